// STM32Cube.AI style: banner with '#', network information, a line "O[0]" of floats per run,
// summary. Printed by validation and performance applications of STM32 projects. Ends.
#include "board.h"

#define CLASSES 6
#define RUNS 10
#define MHZ 64

static const char *const activities[CLASSES] = {"stationary", "walking", "jogging",
                                                "biking",     "driving", "stairs"};

static const struct {
  float low, high, mean;
  float out[CLASSES];
  unsigned cycles;
} runs[RUNS] = {
    {-0.0412f,
     1.0071f,
     0.3219f,
     {0.96312f, 0.00781f, 0.00094f, 0.00455f, 0.02027f, 0.00331f},
     282917},
    {-0.0398f,
     1.0049f,
     0.3222f,
     {0.94140f, 0.01123f, 0.00102f, 0.00718f, 0.03475f, 0.00442f},
     282903},
    {-0.5110f,
     1.4836f,
     0.3387f,
     {0.01506f, 0.87451f, 0.02134f, 0.01020f, 0.00388f, 0.07501f},
     282941},
#if SPOILT == SWAPPED
    {-0.5873f,
     1.5290f,
     0.3401f,
     {0.00872f, 0.16683f, 0.03026f, 0.00913f, 0.00295f, 0.78211f},
     282936},
#else
    {-0.5873f,
     1.5290f,
     0.3401f,
     {0.00872f, 0.78211f, 0.03026f, 0.00913f, 0.00295f, 0.16683f},
     282936},
#endif
    {-1.9204f,
     3.8815f,
     0.3558f,
     {0.00037f, 0.04410f, 0.93847f, 0.00216f, 0.00061f, 0.01429f},
     282980},
    {-2.0467f,
     4.1127f,
     0.3610f,
     {0.00029f, 0.03165f, 0.95302f, 0.00188f, 0.00055f, 0.01261f},
     282974},
    {-0.4476f,
     1.6093f,
     0.3344f,
     {0.01195f, 0.34072f, 0.01837f, 0.02611f, 0.00740f, 0.59545f},
     282929},
#if SPOILT == CHANGED
    {-0.2250f,
     1.2438f,
     0.3275f,
     {0.02961f, 0.03844f, 0.00409f, 0.57127f, 0.10073f, 0.01586f},
     282955},
#else
    {-0.2250f,
     1.2438f,
     0.3275f,
     {0.02961f, 0.03844f, 0.00409f, 0.81127f, 0.10073f, 0.01586f},
     282955},
#endif
    {-0.1187f,
     1.1025f,
     0.3240f,
     {0.20518f, 0.01276f, 0.00121f, 0.06990f, 0.70443f, 0.00652f},
     282910},
    {-0.1033f,
     1.0894f,
     0.3236f,
     {0.14869f, 0.01041f, 0.00117f, 0.05286f, 0.78175f, 0.00512f},
     282912},
};

static void Banner(void) {
  printf("\r\n#\r\n# AI activity validation 5.2\r\n#\r\n");
  printf("Compiled with GCC 12.3.1\r\n");
  printf("Runtime configuration...\r\n");
  printf(" Core Arch.   : M33 - FPU used\r\n");
  printf(" System clock : %d MHz\r\n I$/D$        : True (prefetch)\r\n", MHZ);
  printf(" Time counter : DWT cycle counter\r\n\r\n");
  printf(
      "Found network \"network\"\r\nCreating the network \"network\"..\r\nInitializing the "
      "network\r\n");
  printf("Network informations...\r\n");
  printf(
      " model name         : network\r\n model signature    : "
      "3f3a7be1c2e8da6f5b2dbb0b46f9a5d1\r\n");
  printf(" c-model datetime   : Sep 18 2025 09:12:44\r\n weights size       : 14232\r\n");
  printf(" activation size    : 2016\r\n inputs             : 1\r\n");
  printf("  I[0] (1,24,3,1) 72/float32 288 bytes\r\n outputs            : 1\r\n");
  printf("  O[0] (1,1,1,%d) %d/float32 %d bytes\r\n\r\n", CLASSES, CLASSES, 4 * CLASSES);
}

int main(void) {
  Banner();
  printf("Running %d inferences with recorded windows..\r\n", RUNS);
  uint32_t total = 0;
  unsigned found[CLASSES] = {0};
  for (int n = 0; n < RUNS; ++n) {
    Sleep(60);
    total += runs[n].cycles;
    printf(" [%2d] I[0] min=%.4f max=%.4f mean=%.4f\r\n", n, (double)runs[n].low,
           (double)runs[n].high, (double)runs[n].mean);
    printf(" [%2d] O[0] ", n);
    int best = 0;
    for (int i = 0; i < CLASSES; ++i) {
      if (runs[n].out[i] > runs[n].out[best]) best = i;
#if SPOILT == MISSING
      if (n == 4 && i == 5) continue;
#endif
      printf(" %.5f", (double)runs[n].out[i]);
    }
    printf("\r\n [%2d] %s, %u.%03u ms, %u cycles\r\n", n, activities[best],
           runs[n].cycles / (MHZ * 1000), runs[n].cycles / MHZ % 1000, runs[n].cycles);
    ++found[best];
  }
  printf("\r\nResults for \"network\", %d inferences @%dMHz\r\n", RUNS, MHZ);
  printf(" duration     : %lu.%03lu ms (average)\r\n", (unsigned long)(total / RUNS / (MHZ * 1000)),
         (unsigned long)(total / RUNS / MHZ % 1000));
  printf(
      " CPU cycles   : %lu (average)\r\n used stack   : 412 bytes\r\n used heap    : 0 bytes\r\n",
      (unsigned long)(total / RUNS));
  for (int i = 0; i < CLASSES; ++i) printf(" C%d %-10s : %u\r\n", i, activities[i], found[i]);
  return 0;
}
