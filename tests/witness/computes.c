// The instructions of harness/targets/renode/computed_wrongly.toml: at least one answer of each
// row.
#include "witness.h"

static uint32_t memory[16] __attribute__((aligned(32)));

// The GE flags of APSR, bit by bit, without MRS.
#define GE_OF(result)                                   \
  "movw r4, #0x0201\n movt r4, #0x0804\n movs r5, #0\n" \
  "sel r4, r4, r5\n usad8 " result ", r4, r5\n"
#define CLOBBERED "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "lr", "cc", "memory"
#define SINGLES "s0", "s1", "s2", "s3"

#define CORE(name, x, y, z, code)                                               \
  do {                                                                          \
    uint32_t result;                                                            \
    __asm volatile("mov r0, %1\n mov r1, %2\n mov r2, %3\n" code "mov %0, r3\n" \
                   : "=r"(result)                                               \
                   : "r"(x), "r"(y), "r"(z)                                     \
                   : CLOBBERED);                                                \
    Tell(name, result);                                                         \
  } while (0)

// The Q flag behind `code`.
#define Q_OF(name, x, y, z, code) \
  CORE(name, x, y, z, "movs r3, #0\n msr apsr_nzcvq, r3\n" code "mrs r3, apsr\n lsr r3, #27\n")

// s0 = `code` of s1 and s2, with `fpscr`; and FPSCR's flags.
#define FLOAT(name, fpscr, x, y, code)                                               \
  do {                                                                               \
    uint32_t result, flags;                                                          \
    __asm volatile("vmsr fpscr, %2\n vmov s0, %3\n vmov s1, %3\n vmov s2, %4\n" code \
                   "\n vmov %0, s0\n vmrs %1, fpscr\n vmsr fpscr, %5\n"              \
                   : "=&r"(result), "=&r"(flags)                                     \
                   : "r"(fpscr), "r"(x), "r"(y), "r"(0)                              \
                   : CLOBBERED, SINGLES);                                            \
    Tell(name, result);                                                              \
    Tell(name "_flags", flags & 0x9F);                                               \
  } while (0)

// The fault of an encoding, 0 if it is executed; r0 and r1 are addresses in `memory`.
#define ENCODING(name, code)                                                                  \
  do {                                                                                        \
    __asm volatile("mov r0, %0\n mov r1, r0\n movs r2, #0\n movs r3, #0\n" code ::"r"(memory) \
                   : CLOBBERED, "d0", "d1", "d2", "d3");                                      \
    Tell(name, Caught());                                                                     \
  } while (0)
#define WIDE(name, word) ENCODING(name, ".inst.w " #word)
#define NARROW(name, word) ENCODING(name, ".inst.n " #word)
enum { UP = 1 << 22, DOWN = 2 << 22 };  // FPSCR.RMode

static void Integers(void) {
  Q_OF("smlad", 0x80008000, 0x80008000, -1, "smlad r3, r0, r1, r2\n");
  Q_OF("smladx", 0x80008000, 0x80008000, -1, "smladx r3, r0, r1, r2\n");
  CORE("smlald", 0x80008000, 0x80008000, 0, "movs r3, #0\n movs r4, #0\n smlald r4, r3, r0, r1\n");
  CORE("smlaldx", 0x80008000, 0x80008000, 0,
       "movs r3, #0\n movs r4, #0\n smlaldx r4, r3, r0, r1\n");
  CORE("sasx", 0x2F00A251, 0x5DBFC398, 0, "sasx r3, r1, r0\n" GE_OF("r3"));
  CORE("ssax", 0x100, 0x2F847CCF, 0, "ssax r3, r0, r1\n" GE_OF("r3"));
  CORE("uasx", 0x59, 0x80808080, 0, "uasx r3, r0, r1\n" GE_OF("r3"));
  CORE("usax", 0x231A4EFC, 0xEA8D539E, 0, "usax r3, r0, r1\n" GE_OF("r3"));
  CORE("usub16", 0x143EBAD0, 0x8BB2094F, 0, "usub16 r3, r0, r1\n" GE_OF("r3"));
  CORE("uhadd8", 0x16624B37, 0x0399CB2B, 0, "uhadd8 r3, r0, r1\n");
  CORE("uhsub8", 0x7B26793A, 0xE000E388, 0, "uhsub8 r3, r0, r1\n");
  CORE("mrs_apsr", 0xFFFFFFFF, 0, 0, "uadd8 r3, r0, r0\n mrs r3, apsr\n ubfx r3, r3, #16, #4\n");
  CORE("msr_apsr", 0x000F0000, 0, 0, "uadd8 r3, r1, r1\n msr apsr_g, r0\n" GE_OF("r3"));
  CORE("mrs_xpsr", 0, 0, 0, "mrs r3, xpsr\n lsr r3, r3, #24\n and r3, r3, #1\n");
  CORE("mrs_epsr", 0, 0, 0, "mrs r3, epsr\n");
  CORE("sel", 0xFFFFFFFF, 0, 0, "uadd8 r3, r0, r0\n svc #0\n" GE_OF("r3"));
}

void Svc(void) { __asm volatile("uadd8 r3, %0, %0" ::"r"(0) : "r3"); }

static void Floats(void) {
  FLOAT("vcvt_from_fixed", DOWN, 0xB727AEF4, 0, "vcvt.f32.u32 s0, s0, #2");
  FLOAT("vcvt_from_fixed_signed", UP, 0x3727AEC1, 0, "vcvt.f32.s32 s0, s0, #2");
  FLOAT("vcvt_to_fixed", 0, 0xC410B1B3, 0, "vcvt.u32.f32 s0, s0, #3");
  FLOAT("vcvt_to_fixed_16", 0, 0xBF000001, 0, "vcvt.s16.f32 s0, s0, #16");
  FLOAT("vcvt_unsigned", 0, 0xC5182A7F, 0, "vcvt.u32.f32 s0, s1");
  FLOAT("vcvtr_unsigned", 0, 0xC5182A7F, 0, "vcvtr.u32.f32 s0, s1");
  FLOAT("vcvta_unsigned", 0, 0xC5182A7F, 0, "vcvta.u32.f32 s0, s1");
  FLOAT("vcvtm_unsigned", 0, 0xC5182A7F, 0, "vcvtm.u32.f32 s0, s1");
  FLOAT("vcvt_half", UP, 0x20000000, 0, "vcvtb.f16.f32 s0, s1");
  FLOAT("vcvt_half_large", UP, 0xCF000000, 0, "vcvtt.f16.f32 s0, s1");
  FLOAT("vmaxnm", 0, 0x337FFFFF, 0x7F812345, "vmaxnm.f32 s0, s1, s2");
  FLOAT("vminnm", 0, 0x337FFFFF, 0x7F812345, "vminnm.f32 s0, s1, s2");
  CORE("vmsr_fpscr", 0x00370000, 0, 0, "vmsr fpscr, r0\n vmrs r3, fpscr\n vmsr fpscr, r1\n");
}

static void Encodings(void) {
  WIDE("vmov_from_scalar", 0xee111b10);  // VMOV.32 r1, d1[0]
  WIDE("vmov_to_scalar", 0xee211b10);    // VMOV.32 d1[1], r1
  WIDE("csel", 0xea518202);
  WIDE("csinc", 0xea519202);
  WIDE("csinv", 0xea51a202);
  WIDE("csneg", 0xea51b202);
  WIDE("vadd_f64", 0xee311b02);
  WIDE("vfma_f64", 0xeea11b02);
  WIDE("vdiv_f64", 0xee811b02);
  WIDE("vmov_f64", 0xeeb71b00);
  WIDE("vcmp_f64", 0xeeb41b42);
  WIDE("vcvt_f64_f32", 0xeeb70ac0);
  WIDE("vcvt_f32_f64", 0xeeb71bc0);
  WIDE("vcvt_f64_s32", 0xeeb81bc0);
  WIDE("vcvt_s32_f64", 0xeebd0bc1);
  WIDE("vcvt_f64_fixed", 0xeeba1bc8);
  WIDE("vsel_f64", 0xfe011b02);
  WIDE("vmaxnm_f64", 0xfe811b02);
  WIDE("vrinta_f64", 0xfeb81b42);
  WIDE("vcvta_f64", 0xfebc0b42);
  WIDE("vand", 0xef020114);
  WIDE("vadd_vector", 0xef020d04);
  WIDE("vmov_vector", 0xefc00010);
  WIDE("vld1", 0xf921070f);
  WIDE("vst1", 0xf901070f);
  WIDE("strsb", 0xf9812004);
  WIDE("ldrexd", 0xe8d1237f);
  WIDE("strexd", 0xe8c12374);
  WIDE("ldrexd_acquire", 0xe8d123ff);
  WIDE("strexd_release", 0xe8c123f4);
  WIDE("ldrex_of_no_size", 0xe8d12f6f);
  NARROW("setend", 0xb658);
  NARROW("setpan", 0xb610);
  NARROW("cps_of_no_kind", 0xb640);
  NARROW("cps_high", 0xb680);
  WIDE("mul_op2", 0xfb01f222);
  WIDE("smulbb_op2", 0xfb11f242);
  WIDE("smuad_op2", 0xfb21f222);
  WIDE("smulwb_op2", 0xfb31f223);
  WIDE("smusd_op2", 0xfb41f222);
  WIDE("smmul_op2", 0xfb51f222);
  WIDE("smmla_bit_7", 0xfb513282);
  WIDE("smmls_op2", 0xfb613222);
  WIDE("usad8_op2", 0xfb71f212);
  WIDE("smull_op2", 0xfb812313);
  WIDE("sdiv_op2", 0xfb91f202);
  WIDE("umull_op2", 0xfba12313);
  WIDE("udiv_op2", 0xfbb1f202);
  WIDE("smlal_op2", 0xfbc12313);
  WIDE("smlsld_op2", 0xfbd12382);
  WIDE("umlal_op2", 0xfbe12313);
  WIDE("long_op1_7", 0xfbf12302);
  WIDE("pkh_t", 0xeac10212);
  WIDE("movw_s", 0xf2510200);
  WIDE("addw_s", 0xf2110200);
  WIDE("plain_1", 0xf2210200);
  WIDE("plain_3", 0xf2610200);
  WIDE("plain_4", 0xf2810200);
  WIDE("plain_7", 0xf2e10200);
  WIDE("vmov_opc1_1", 0xee201a10);
  WIDE("vmov_opc1_2", 0xee401a10);
  WIDE("vmov_opc1_3", 0xee601a10);
}

void Main(void) {
  Integers();
  Floats();
  Encodings();
}
