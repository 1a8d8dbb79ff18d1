// Speech aid with a predictive text model: for each context the four likeliest words with their
// probabilities in percent, best first, then the key that the user presses. Ends. No model.
#include <string.h>

#include "board.h"

enum { kSteps = 9, kWords = 4 };

typedef struct {
  const char* word[kWords];
  float percent[kWords];
  const char* pressed;
  uint16_t milliseconds;
} Step;

static const Step kStep[kSteps] = {
    {{"i", "the", "can", "please"}, {31.8f, 14.6f, 12.2f, 7.3f}, "i", 36},
    {{"am", "would", "want", "need"}, {22.4f, 27.1f, 18.9f, 11.5f}, "would", 38},
#if SPOILT == SWAPPED
    {{"like", "not", "love", "be"}, {8.8f, 61.2f, 9.7f, 4.1f}, "like", 38},
#else
    {{"like", "not", "love", "be"}, {61.2f, 8.8f, 9.7f, 4.1f}, "like", 38},
#endif
    {{"to", "a", "some", "the"}, {54.3f, 21.5f, 7.6f, 6.9f}, "a", 39},
#if SPOILT == CHANGED
    {{"cup", "glass", "drink", "book"}, {28.4f, 16.3f, 5.1f, 3.2f}, "cup", 41},
#else
    {{"cup", "glass", "drink", "book"}, {19.9f, 16.3f, 5.1f, 3.2f}, "cup", 41},
#endif
    {{"of", "and", "with", "for"}, {93.6f, 1.4f, 0.8f, 0.5f}, "of", 41},
    {{"water", "tea", "coffee", "hot"}, {13.7f, 39.5f, 33.2f, 4.4f}, "tea", 43},
    {{"with", "and", "please", "."}, {17.3f, 12.8f, 24.6f, 20.1f}, "with", 44},
    {{"sugar", "milk", "lemon", "you"}, {25.7f, 44.9f, 9.3f, 2.6f}, "milk", 44},
};

int main(void) {
  char sentence[96] = "";
  unsigned saved = 0;
  printf("\nTalkBoard 1.1 [e5d02aa] lang=en vocab=4096 ctx=32 weights=q4 1.9MB xip\n");
  printf("battery 81%%, voice \"anna\", ready in 412 ms\n\n");
  for (unsigned s = 0; s < kSteps; s++) {
    const Step* step = &kStep[s];
    unsigned order[kWords], rank = 0;
    for (unsigned i = 0; i < kWords; i++) {
      unsigned at = i;
      for (; at > 0 && step->percent[order[at - 1]] < step->percent[i]; at--) {
        order[at] = order[at - 1];
      }
      order[at] = i;
    }
    Sleep(step->milliseconds);
    printf("\"%s_\" (%u ms)\n  ", sentence, step->milliseconds);
    for (unsigned i = 0; i < kWords; i++) {
      if (!strcmp(step->word[order[i]], step->pressed)) rank = i + 1;
#if SPOILT == MISSING
      if (s == 6 && i == 2) continue;
#endif
      printf("  F%u %s %.1f", i + 1, step->word[order[i]], (double)step->percent[order[i]]);
    }
    printf("\n");
    Sleep(150);
    printf("  key F%u\n", rank);
    saved += strlen(step->pressed);
    strcat(sentence, step->pressed);
    strcat(sentence, " ");
  }
  printf("\nspeak: %s\n%u words, %u keys saved, cache 10/32\n", sentence, kSteps, saved);
  return 0;
}
