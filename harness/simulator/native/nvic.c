// The interrupt controller's state and rules. priority_deliverable() also considers the masks;
// exception.c takes exceptions.
#include "nvic.h"

#include <stddef.h>
#include <string.h>

#define SYSTEM 0xFFFFu
enum { ISER = 0x100, ICER = 0x180, ISPR = 0x200, ICPR = 0x280, IABR = 0x300, ITNS = 0x380 };
enum { IPR = 0x400, IPR_END = 0x600 };

static unsigned place_of(int number) {
  if (number & NONSECURE) return FIRST_IRQ + (unsigned)(number & 0xF);
  return (unsigned)(number < FIRST_IRQ ? number : number + FIRST_IRQ);
}

static int number_at(unsigned place) {
  if (place < FIRST_IRQ) return (int)place;
  return (int)place - FIRST_IRQ + (place < 2 * FIRST_IRQ ? NONSECURE : 0);
}

static bool exists(const Nvic *n, int number) {
  return number >= 0 && ((number & NUMBER) < FIRST_IRQ || number < FIRST_IRQ + n->irqs);
}

bool nvic_has(const Nvic *n, int set, int number) {
  unsigned place = place_of(number);
  return exists(n, number) && (n->state.sets[set][place / 32] >> place % 32 & 1);
}

// nvic_update() must follow.
void nvic_put(Nvic *n, int set, int number, bool value) {
  unsigned place = place_of(number);
  if (!exists(n, number)) return;
  uint32_t *word = &n->state.sets[set][place / 32], bit = 1u << place % 32;
  *word = value ? *word | bit : *word & ~bit;
}

bool nvic_is_banked(int number) {
  const uint32_t banked = 1u << HARD_FAULT | 1u << MEM_MANAGE | 1u << USAGE_FAULT | 1u << SVCALL |
                          1u << PENDSV | 1u << SYSTICK;
  return number < FIRST_IRQ && banked >> number & 1;
}

// Returns the whole priority; lower is more urgent.
int nvic_priority(const Nvic *n, int number) {
  int plain = number & NUMBER;
  if (plain == NMI) return -2;
  if (plain == 1) return -4;
  if (plain == HARD_FAULT) return number == HARD_FAULT && n->state.faults_nonsecure ? -3 : -1;
  if (!exists(n, number)) return 0;
  return number & NONSECURE ? n->state.banked_priorities[plain] : n->state.priorities[plain];
}

static int squash(const Nvic *n, int number, int value) {
  bool lower = n->state.squashed && nvic_has(n, TARGETS_NONSECURE, number);
  return lower ? value / 2 + SQUASHED : value;
}

// Returns the group priority, which preempts (Armv8-M ARM, ExceptionPriority).
int nvic_group_priority(const Nvic *n, int number) {
  int value = nvic_priority(n, number);
  if (value < 0) return value;
  return squash(n, number, value & n->state.group_masks[nvic_has(n, TARGETS_NONSECURE, number)]);
}

// Whether `one` is taken first: with equal priorities the lower number, then the secure exception.
static bool goes_first(const Nvic *n, int one, int other) {
  int a = nvic_priority(n, one), b = nvic_priority(n, other);
  if (a >= 0) a = squash(n, one, a);
  if (b >= 0) b = squash(n, other, b);
  if (a != b) return a < b;
  return (one & NUMBER) != (other & NUMBER) ? (one & NUMBER) < (other & NUMBER) : one < other;
}

// Removes the lowest bit and returns its index.
static unsigned take_lowest(uint32_t *word) {
  unsigned place = 0;
  for (uint32_t w = *word; !(w & 1); w >>= 1) place++;
  *word &= *word - 1;
  return place;
}

void nvic_update(Nvic *n) {
  const NvicState *s = &n->state;
  n->best = 0;
  n->active_priority = NO_PRIORITY;
  for (unsigned i = 0; i < WORDS; i++) {
    for (uint32_t ready = s->sets[PENDING][i] & s->sets[ENABLED][i]; ready;) {
      int number = number_at(32 * i + take_lowest(&ready));
      if (!n->best || goes_first(n, number, n->best)) n->best = number;
    }
    for (uint32_t active = s->sets[ACTIVE][i]; active;) {
      int priority = nvic_group_priority(n, number_at(32 * i + take_lowest(&active)));
      if (priority < n->active_priority) n->active_priority = priority;
    }
  }
  n->best_pending = n->best ? nvic_group_priority(n, n->best) : NO_PRIORITY;
  if (n->changed) n->changed(n->owner);
}

// Resets: nothing pending or active, all interrupts disabled and secure, all priorities zero.
void nvic_reset(Nvic *n) {
  memset(&n->state, 0, sizeof n->state);
  n->state.sets[ENABLED][0] = ~0u;
  n->state.sets[TARGETS_NONSECURE][0] = SYSTEM << FIRST_IRQ;
  n->state.group_masks[0] = n->state.group_masks[1] = 0xFE;
  nvic_update(n);
}

void nvic_set_priority(Nvic *n, int number, uint8_t value) {
  uint8_t *table = number & NONSECURE ? n->state.banked_priorities : n->state.priorities;
  if (!exists(n, number)) return;
  table[number & NUMBER] = value & n->implemented;
  nvic_update(n);
}

void nvic_set_group(Nvic *n, bool nonsecure, unsigned group) {
  n->state.groups[nonsecure] = (uint8_t)(group & 7);
  n->state.group_masks[nonsecure] = (uint8_t)(0xFFu << ((group & 7) + 1));
  nvic_update(n);
}

// Sets AIRCR.BFHFNMINS: BusFault, HardFault and NMI belong to the non-secure state.
void nvic_set_faults_nonsecure(Nvic *n, bool value) {
  n->state.faults_nonsecure = value;
  nvic_put(n, TARGETS_NONSECURE, BUS_FAULT, value);
  nvic_put(n, TARGETS_NONSECURE, NMI, value);
  nvic_update(n);
}

void nvic_pend(Nvic *n, int number) {
  if (nvic_has(n, PENDING, number) || !exists(n, number)) return;
  nvic_put(n, PENDING, number, true);
  n->state.event |= ((n->state.scr[0] | n->state.scr[1]) & SCR_SEVONPEND) != 0;
  nvic_update(n);
}

void nvic_unpend(Nvic *n, int number) {
  nvic_put(n, PENDING, number, false);
  nvic_update(n);
}

// Makes an exception active when it is entered.
void nvic_activate(Nvic *n, int number) {
  n->state.in_row = number == n->state.last ? n->state.in_row + 1 : 1;
  n->state.last = number;
  n->state.entered[number & NUMBER]++;
  nvic_put(n, PENDING, number, false);
  nvic_put(n, ACTIVE, number, true);
  n->state.event = true;
  nvic_update(n);
}

// Makes an exception inactive when it returns; its interrupt line, if still high, pends it again.
void nvic_deactivate(Nvic *n, int number) {
  nvic_put(n, ACTIVE, number, false);
  if (nvic_has(n, LINES, number)) {
    nvic_put(n, PENDING, number, true);
    n->state.held[number]++;
  }
  n->state.event = true;
  nvic_update(n);
}

void nvic_resume(Nvic *n) { n->state.last = 0; }

// Sets the interrupt line of a peripheral.
void nvic_line(Nvic *n, int irq, bool level) {
  int number = FIRST_IRQ + irq;
  bool was = nvic_has(n, LINES, number);
  nvic_put(n, LINES, number, level);
  if (!level && exists(n, number)) n->state.held[number] = 0;
  if (level && !was && !nvic_has(n, ACTIVE, number)) nvic_pend(n, number);
}

// Returns the mask of the interrupts in a word that a security state sees; others read as zero.
static uint32_t seen(const Nvic *n, unsigned index, bool nonsecure) {
  int rest = n->irqs - 32 * (int)(index - 1);
  if (index >= WORDS || rest <= 0) return 0;
  uint32_t mask = rest < 32 ? (1u << rest) - 1 : ~0u;
  return nonsecure ? mask & n->state.sets[TARGETS_NONSECURE][index] : mask;
}

static int set_of(uint32_t offset) {
  static const int sets[] = {ENABLED, ENABLED, PENDING, PENDING, ACTIVE, TARGETS_NONSECURE};
  return sets[(offset - ISER) / (ICER - ISER)];
}

static bool sees(const Nvic *n, int number, bool nonsecure) {
  unsigned place = place_of(number);
  return seen(n, place / 32, nonsecure) >> place % 32 & 1;
}

uint32_t nvic_read(const Nvic *n, uint32_t offset, bool nonsecure) {
  unsigned index = 1 + (offset & 0x7F) / 4;
  uint32_t word = 0;
  if (offset < ISER || offset >= IPR_END) return 0;
  if (offset < IPR) {
    if (offset >= ITNS && nonsecure) return 0;
    word = seen(n, index, nonsecure);
    return word ? word & n->state.sets[set_of(offset)][index] : 0;
  }
  for (int i = 0; i < 4; i++) {
    int number = FIRST_IRQ + (int)(offset - IPR) + i;
    if (sees(n, number, nonsecure)) word |= (uint32_t)n->state.priorities[number] << 8 * i;
  }
  return word;
}

static void write_priorities(Nvic *n, uint32_t offset, uint32_t value, bool nonsecure) {
  for (int i = 0; i < 4; i++) {
    int number = FIRST_IRQ + (int)(offset - IPR) + i;
    if (sees(n, number, nonsecure)) nvic_set_priority(n, number, (uint8_t)(value >> 8 * i));
  }
}

// Writes ISPR or ICPR. A line that is high keeps its interrupt pending; setting a pending interrupt
// is not an event.
static void write_pending(Nvic *n, uint32_t offset, unsigned index, uint32_t bits) {
  uint32_t *pending = &n->state.sets[PENDING][index];
  if (offset >= ICPR) {
    *pending &= ~bits | (n->state.sets[LINES][index] & ~n->state.sets[ACTIVE][index]);
    return;
  }
  for (uint32_t added = bits & ~*pending; added;) {
    nvic_pend(n, number_at(32 * index + take_lowest(&added)));
  }
}

void nvic_write(Nvic *n, uint32_t offset, uint32_t value, bool nonsecure) {
  unsigned index = 1 + (offset & 0x7F) / 4;
  uint32_t all = seen(n, index, nonsecure), bits = value & all;
  if (offset < ISER || offset >= IPR_END) return;
  if (offset >= IPR) {
    write_priorities(n, offset, value, nonsecure);
    return;
  }
  if (index >= WORDS) return;
  uint32_t *enabled = &n->state.sets[ENABLED][index];
  uint32_t *targets = &n->state.sets[TARGETS_NONSECURE][index];
  if (offset < ICER) {
    *enabled |= bits;
  } else if (offset < ISPR) {
    *enabled &= ~bits;
  } else if (offset < IABR) {
    write_pending(n, offset, index, bits);
  } else if (offset >= ITNS && !nonsecure) {
    *targets = (*targets & ~all) | bits;
  }
  nvic_update(n);
}

static bool any(const uint32_t *words, int count) {
  uint32_t all = 0;
  for (int i = 0; i < count; i++) all |= words[i];
  return all != 0;
}

// Whether any other exception is active. The number of a banked exception means both of them.
bool nvic_active_beside(const Nvic *n, int number) {
  Nvic others = *n;
  nvic_put(&others, ACTIVE, number, false);
  if (number && number < FIRST_IRQ) nvic_put(&others, ACTIVE, number | NONSECURE, false);
  return any(others.state.sets[ACTIVE], WORDS);
}

enum { RETTOBASE = 11, VECTPENDING = 12, ISRPENDING = 22 };
enum { PENDSTSET = 26, PENDSVSET = 28, PENDNMISET = 31 };

// Whether NMI belongs to a security state: with AIRCR.BFHFNMINS to the non-secure one.
static bool sees_nmi(const Nvic *n, bool nonsecure) {
  return !nonsecure || n->state.faults_nonsecure;
}

uint32_t nvic_read_control(const Nvic *n, int running, bool nonsecure) {
  int own = nonsecure ? NONSECURE : 0;
  bool shows = !nonsecure || nvic_has(n, TARGETS_NONSECURE, n->best);
  uint32_t word = (uint32_t)running;
  word |= (uint32_t)(shows ? n->best & NUMBER : 0) << VECTPENDING;
  word |= (uint32_t)!nvic_active_beside(n, running) << RETTOBASE;
  word |= (uint32_t)any(&n->state.sets[PENDING][1], WORDS - 1) << ISRPENDING;
  word |= (uint32_t)nvic_has(n, PENDING, SYSTICK | own) << PENDSTSET;
  word |= (uint32_t)nvic_has(n, PENDING, PENDSV | own) << PENDSVSET;
  return word | (uint32_t)(sees_nmi(n, nonsecure) && nvic_has(n, PENDING, NMI)) << PENDNMISET;
}

// Writes the bit that sets an exception pending, and the bit below it, which clears that.
static void write_pair(Nvic *n, uint32_t value, int set_bit, int number) {
  if (value >> set_bit & 1) {
    nvic_pend(n, number);
  } else if (value >> (set_bit - 1) & 1) {
    nvic_unpend(n, number);
  }
}

void nvic_write_control(Nvic *n, uint32_t value, bool nonsecure) {
  int own = nonsecure ? NONSECURE : 0;
  write_pair(n, value, PENDSVSET, PENDSV | own);
  write_pair(n, value, PENDSTSET, SYSTICK | own);
  if (sees_nmi(n, nonsecure)) write_pair(n, value, PENDNMISET, NMI);
}
