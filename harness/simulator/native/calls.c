// Instructions by call stack: a shadow of each stack, kept at the start of each block.
//
// A function is called where its first instruction is reached with another return address, or a
// lower stack, than that of the function on top; one that is reached with both unchanged is a tail
// call and takes its place. A function has returned once the stack pointer is above that of its
// entry, or at it and the return address is reached. Each exception has a stack of its own, and so
// has each thread: it is found again by the frame that the exception pushed.
#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 1 << 20, NONE = -1 };

static uint32_t hash(uint32_t parent, uint32_t function) {
  uint32_t value = (parent * 0x9E3779B1u) ^ (function * 0x85EBCA77u);
  return (value ^ value >> 15) & (CALL_BUCKETS - 1);
}

// The node of `function` below `parent`; `parent` itself if there is no memory for one.
static uint32_t child(Calls *calls, uint32_t parent, uint32_t function) {
  uint32_t *bucket = &calls->buckets[hash(parent, function)];
  for (uint32_t at = *bucket; at; at = calls->nodes[at].next) {
    if (calls->nodes[at].parent == parent && calls->nodes[at].function == function) return at;
  }
  if (calls->count == calls->room) {
    const uint32_t room = 2 * calls->room;
    CallNode *more = room > MOST_NODES ? NULL : realloc(calls->nodes, room * sizeof(CallNode));
    if (!more) return parent;
    calls->nodes = more;
    calls->room = room;
  }
  const CallNode node = {parent, function, *bucket, 0};
  calls->nodes[calls->count] = node;
  *bucket = calls->count;
  return calls->count++;
}

static CallFrame *top(CallStack *stack) {
  return stack->depth ? &stack->frames[stack->depth - 1] : NULL;
}

static uint32_t node_of(CallStack *stack) { return stack->depth ? top(stack)->node : stack->root; }

static void push(Calls *calls, CallStack *stack, uint32_t function, uint32_t lr, uint32_t sp) {
  if (stack->depth == CALL_DEPTH) stack->depth--;
  const CallFrame frame = {child(calls, node_of(stack), function), function, lr & ~1u, sp};
  stack->frames[stack->depth++] = frame;
}

static void replace(Calls *calls, CallStack *stack, uint32_t function) {
  const CallFrame before = *top(stack);
  stack->depth--;
  push(calls, stack, function, before.caller, before.sp);
}

// Pop down to the entry of `function` at the same stack pointer: code that goes round.
static bool again(CallStack *stack, uint32_t function, uint32_t sp) {
  for (int at = stack->depth; at-- && stack->frames[at].sp == sp;) {
    if (stack->frames[at].function == function) {
      stack->depth = at + 1;
      return true;
    }
  }
  return false;
}

static void follow(Calls *calls, CallStack *stack, uint32_t address, uint32_t entry, uint32_t lr,
                   uint32_t sp) {
  const uint32_t function = entry & ~(uint32_t)CALLS_ENTRY;
  while (stack->depth &&
         (sp > top(stack)->sp || (sp == top(stack)->sp && address == top(stack)->caller))) {
    stack->depth--;
  }
  const CallFrame *here = top(stack);
  if (!here) {
    push(calls, stack, function, lr, sp);
  } else if (function == here->function) {
    if (entry & CALLS_ENTRY && sp < here->sp) push(calls, stack, function, lr, sp);
  } else if (entry & CALLS_ENTRY && ((lr & ~1u) != here->caller || sp != here->sp)) {
    if (!again(stack, function, sp)) push(calls, stack, function, lr, sp);
  } else {
    replace(calls, stack, function);
  }
}

static int fresh(Calls *calls, int index, uint32_t root) {
  CallStack *stack = &calls->stacks[index];
  stack->depth = 0;
  stack->root = root;
  stack->below = NONE;
  stack->frame[0] = stack->frame[1] = 0;
  return index;
}

// Bytes of a frame: with or without floating-point registers, and padding.
static bool is_frame(uint32_t size) {
  return size == 0x20 || size == 0x24 || size == 0x68 || size == 0x6C;
}

// Thread mode goes on: with the stack whose frame ended here, or with one that is new.
static int resume(Calls *calls, uint32_t sp) {
  for (int at = 0; at < CALL_THREADS; at++) {
    const uint32_t *frame = calls->stacks[at].frame;
    if (is_frame(sp - frame[0]) || is_frame(sp - frame[1])) return at;
  }
  const int at = calls->threads++ % CALL_THREADS;
  return fresh(calls, at, 0);
}

static int interrupt(Core *c, Calls *calls, uint32_t number, uint32_t sp) {
  const int index = CALL_THREADS + (int)(number % CALL_EXCEPTIONS);
  for (int at = calls->current; at != NONE; at = calls->stacks[at].below) {
    if (at == index) return at;  // one that was interrupted itself goes on
  }
  int below = calls->current;
  CallStack *now = &calls->stacks[below];
  if (below < CALL_THREADS) {
    now->frame[0] = core_reg(c, REG_PSP);
    now->frame[1] = sp;
  } else if (now->depth && now->frames[0].sp == sp) {
    below = now->below;  // it has returned, and this one takes its place (tail-chaining)
  }
  fresh(calls, index, child(calls, 0, CALLS_EXCEPTION | number));
  calls->stacks[index].below = below;
  return index;
}

static void charge(Calls *calls, long long executed) {
  calls->nodes[node_of(&calls->stacks[calls->current])].executed +=
      (uint64_t)(executed - calls->charged);
  calls->charged = executed;
}

// The entry of `address` in the functions of flash or RAM, and the one behind the last (`end`);
// NULL for an address outside of both.
static uint32_t *entry_of(Core *c, uint32_t address, uint32_t **end) {
  for (int i = 0; i < c->memory.code_count && i < 2; i++) {
    const uint32_t at = (address - c->memory.code[i].base) >> 1;
    if (address >= c->memory.code[i].base && at < c->calls->function_counts[i]) {
      if (end) *end = c->calls->functions[i] + c->calls->function_counts[i];
      return &c->calls->functions[i][at];
    }
  }
  return NULL;
}

void calls_rename(Core *c, uint32_t address, uint32_t number) {
  uint32_t *end = NULL, *first = entry_of(c, address, &end);
  if (!first) return;
  const uint32_t before = *first & ~(uint32_t)CALLS_ENTRY;
  for (uint32_t *at = first; at < end && (*at & ~(uint32_t)CALLS_ENTRY) == before; at++) {
    *at = number | (*at & CALLS_ENTRY);
  }
}

// Code goes on at an address; so many instructions have been executed before.
static void go_on(Core *c, uint32_t address, long long executed) {
  Calls *calls = c->calls;
  if (address == calls->last && !calls->last_entry) return;
  charge(calls, executed);
  const uint32_t *entry = entry_of(c, address, NULL);
  const uint32_t function = entry ? *entry : 0;
  calls->last = address;
  calls->last_entry = function & CALLS_ENTRY;
  const uint32_t number = core_reg(c, REG_XPSR) & 0x1FF, sp = core_reg(c, REG_SP);
  if (number != calls->exception) {
    calls->current = number ? interrupt(c, calls, number, sp) : resume(calls, sp);
    calls->exception = number;
  }
  follow(calls, &calls->stacks[calls->current], address, function, core_reg(c, REG_LR), sp);
}

void calls_block(void *uc, uint64_t address, uint32_t size, void *core) {
  Core *c = core;
  (void)uc;
  (void)size;
  go_on(c, (uint32_t)address, c->time.executed - c->block.count);
}

// A function may begin with an instruction that the core carries out itself.
static void retire(Core *c, uint32_t address) { go_on(c, address, c->time.executed); }

void calls_settle(Core *c) { charge(c->calls, c->time.executed); }

void calls_free(Core *c) {
  if (!c->calls) return;
  free(c->calls->nodes);
  free(c->calls->functions[0]);
  free(c->calls->functions[1]);
  free(c->calls);
  c->calls = NULL;
}

bool calls_start(Core *c, const uint32_t *functions[2], const size_t counts[2]) {
  const bool hooked = c->calls != NULL;
  calls_free(c);
  Calls *calls = c->calls = calloc(1, sizeof *calls);
  if (!calls) return false;
  calls->room = 1024;
  calls->count = 1;  // the root
  calls->nodes = calloc(calls->room, sizeof(CallNode));
  for (int i = 0; i < 2; i++) {
    calls->functions[i] = malloc(counts[i] * sizeof(uint32_t) + 1);
    if (!calls->functions[i] || !calls->nodes) return false;
    memcpy(calls->functions[i], functions[i], counts[i] * sizeof(uint32_t));
    calls->function_counts[i] = counts[i];
  }
  for (int i = 0; i < CALL_THREADS + CALL_EXCEPTIONS; i++) fresh(calls, i, 0);
  calls->retire = retire;
  calls->threads = 1;
  calls->last = 1;
  calls->charged = c->time.executed;
  size_t hook;
  if (!hooked &&
      c->unicorn.api.hook_add(c->unicorn.handle, &hook, HOOK_BLOCK, (void *)calls_block, c, 1, 0)) {
    return false;
  }
  c->block.again = 1;
  c->unicorn.api.ctl(c->unicorn.handle, CTL_FLUSH_TB);
  return true;
}
