// Says what the stock hello_world says of the project's int8 sine model, and sleeps: no network,
// only the text that a scraper reads.
#include "machine.h"

static const char *const results_text[] = {
    "x_value: 0.000000, y_value: 0.000000\r\n",  "x_value: 0.314159, y_value: 0.303643\r\n",
    "x_value: 0.628319, y_value: 0.599295\r\n",  "x_value: 0.942478, y_value: 0.783079\r\n",
    "x_value: 1.256637, y_value: 0.934901\r\n",  "x_value: 1.570796, y_value: 1.014807\r\n",
    "x_value: 1.884956, y_value: 0.926910\r\n",  "x_value: 2.199115, y_value: 0.815042\r\n",
    "x_value: 2.513274, y_value: 0.599295\r\n",  "x_value: 2.827433, y_value: 0.287662\r\n",
    "x_value: 3.141593, y_value: -0.015981\r\n", "x_value: 3.455752, y_value: -0.303643\r\n",
    "x_value: 3.769911, y_value: -0.607286\r\n", "x_value: 4.084071, y_value: -0.823032\r\n",
    "x_value: 4.398230, y_value: -0.966863\r\n", "x_value: 4.712389, y_value: -1.014807\r\n",
    "x_value: 5.026549, y_value: -0.974854\r\n", "x_value: 5.340708, y_value: -0.839014\r\n",
    "x_value: 5.654867, y_value: -0.607286\r\n", "x_value: 5.969026, y_value: -0.319624\r\n",
};

void Main(void) {
  UartStart();
  for (uint32_t i = 0; i < sizeof results_text / sizeof *results_text; i++) {
    Print(results_text[i]);
  }
  // The network has said what it had to say.
}
