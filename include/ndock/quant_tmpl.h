/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the bytes of quantised blocks say: for each format of quant.def and each 16 elements (half h of a block) the code of
 * element l, 0 to 15, their scale, and what is added to scale*code where the format has a minimum. Embeddable as text in C11 and
 * CUDA C++. The includer defines
 *   ND_Q_FN         what functions are declared with: static inline, static __device__
 *   ND_Q_HALF(p)    the float of the two bytes at p, which are a binary16, low byte first
 * In blocks of 256 a scale is a whole number, nd_q_step_X, times the block's nd_q_unit_X, and a minimum, where there is one,
 * nd_q_least_X times nd_q_low_X.
 * Layouts: the GGUF specification and the PyPI package gguf. Deliberately no include guard. */

ND_Q_FN unsigned nd_q_nibble(const unsigned char *bytes, int half, int l)
{
    return (unsigned)bytes[l] >> 4 * half & 15u;
}
/* Bit i of four bytes, low byte first. */
ND_Q_FN unsigned nd_q_bit32(const unsigned char *bytes, int i)
{
    return ((unsigned)bytes[0] | (unsigned)bytes[1] << 8 | (unsigned)bytes[2] << 16 |
            (unsigned)bytes[3] << 24) >>
               i &
           1u;
}

ND_Q_FN int nd_q_code_q4_0(const unsigned char *b, int h, int l)
{
    return (int)nd_q_nibble(b + 2, h, l) - 8;
}
ND_Q_FN float nd_q_scale_q4_0(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}

ND_Q_FN int nd_q_code_q4_1(const unsigned char *b, int h, int l)
{
    return (int)nd_q_nibble(b + 4, h, l);
}
ND_Q_FN float nd_q_scale_q4_1(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}
ND_Q_FN float nd_q_min_q4_1(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b + 2);
}

ND_Q_FN int nd_q_code_q5_0(const unsigned char *b, int h, int l)
{
    return (int)(nd_q_nibble(b + 6, h, l) | nd_q_bit32(b + 2, 16 * h + l) << 4) - 16;
}
ND_Q_FN float nd_q_scale_q5_0(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}

ND_Q_FN int nd_q_code_q5_1(const unsigned char *b, int h, int l)
{
    return (int)(nd_q_nibble(b + 8, h, l) | nd_q_bit32(b + 4, 16 * h + l) << 4);
}
ND_Q_FN float nd_q_scale_q5_1(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}
ND_Q_FN float nd_q_min_q5_1(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b + 2);
}

ND_Q_FN int nd_q_code_q8_0(const unsigned char *b, int h, int l)
{
    return (int)(signed char)b[2 + 16 * h + l];
}
ND_Q_FN float nd_q_scale_q8_0(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}

ND_Q_FN int nd_q_code_q8_1(const unsigned char *b, int h, int l)
{
    return (int)(signed char)b[4 + 16 * h + l];
}
ND_Q_FN float nd_q_scale_q8_1(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}

/* Where 16 elements are in the formats of 256: 2 bits of each in 32 bytes a chunk of 128. */
ND_Q_FN int nd_q_pair_at(int h)
{
    return 32 * (h / 8) + 16 * (h % 2);
}
ND_Q_FN int nd_q_pair_shift(int h)
{
    return 2 * (h % 8 / 2);
}

ND_Q_FN int nd_q_code_q2_K(const unsigned char *b, int h, int l)
{
    return (int)((unsigned)b[16 + nd_q_pair_at(h) + l] >> nd_q_pair_shift(h) & 3u);
}
ND_Q_FN int nd_q_step_q2_K(const unsigned char *b, int h)
{
    return b[h] & 15;
}
ND_Q_FN float nd_q_unit_q2_K(const unsigned char *b)
{
    return ND_Q_HALF(b + 80);
}
ND_Q_FN float nd_q_scale_q2_K(const unsigned char *b, int h)
{
    return nd_q_unit_q2_K(b) * (float)nd_q_step_q2_K(b, h);
}
ND_Q_FN int nd_q_least_q2_K(const unsigned char *b, int h)
{
    return b[h] >> 4;
}
ND_Q_FN float nd_q_low_q2_K(const unsigned char *b)
{
    return -ND_Q_HALF(b + 82);
}
ND_Q_FN float nd_q_min_q2_K(const unsigned char *b, int h)
{
    return nd_q_low_q2_K(b) * (float)nd_q_least_q2_K(b, h);
}

ND_Q_FN int nd_q_code_q3_K(const unsigned char *b, int h, int l)
{
    const int low = (int)((unsigned)b[32 + nd_q_pair_at(h) + l] >> nd_q_pair_shift(h) & 3u);
    const int high = (int)((unsigned)b[16 * (h % 2) + l] >> h / 2 & 1u);
    return low + 4 * high - 4;
}
ND_Q_FN int nd_q_step_q3_K(const unsigned char *b, int h)
{
    const unsigned char *s = b + 96;
    const unsigned low = (unsigned)s[h % 8] >> 4 * (h / 8) & 15u;
    const unsigned high = (unsigned)s[8 + h % 4] >> 2 * (h / 4) & 3u;
    return (int)(low | high << 4) - 32;
}
ND_Q_FN float nd_q_unit_q3_K(const unsigned char *b)
{
    return ND_Q_HALF(b + 108);
}
ND_Q_FN float nd_q_scale_q3_K(const unsigned char *b, int h)
{
    return nd_q_unit_q3_K(b) * (float)nd_q_step_q3_K(b, h);
}

/* Scale and minimum of 32 elements, 6 bits each, eight of both in 12 bytes. */
ND_Q_FN float nd_q_six_scale(const unsigned char *s, int i)
{
    const unsigned far = (unsigned)s[i < 4 ? 0 : i + 4] & 15u;
    return (float)(i < 4 ? (unsigned)s[i] & 63u : far | ((unsigned)s[i < 4 ? 0 : i - 4] >> 6) << 4);
}
ND_Q_FN float nd_q_six_min(const unsigned char *s, int i)
{
    const unsigned far = (unsigned)s[i < 4 ? 0 : i + 4] >> 4;
    return (float)(i < 4 ? (unsigned)s[i + 4] & 63u : far | ((unsigned)s[i] >> 6) << 4);
}
ND_Q_FN int nd_q_code_q4_K(const unsigned char *b, int h, int l)
{
    return (int)nd_q_nibble(b + 16 + 32 * (h / 4) + 16 * (h % 2), h / 2 % 2, l);
}
ND_Q_FN int nd_q_step_q4_K(const unsigned char *b, int h)
{
    return (int)nd_q_six_scale(b + 4, h / 2);
}
ND_Q_FN float nd_q_unit_q4_K(const unsigned char *b)
{
    return ND_Q_HALF(b);
}
ND_Q_FN int nd_q_least_q4_K(const unsigned char *b, int h)
{
    return (int)nd_q_six_min(b + 4, h / 2);
}
ND_Q_FN float nd_q_low_q4_K(const unsigned char *b)
{
    return -ND_Q_HALF(b + 2);
}
ND_Q_FN float nd_q_scale_q4_K(const unsigned char *b, int h)
{
    return ND_Q_HALF(b) * nd_q_six_scale(b + 4, h / 2);
}
ND_Q_FN float nd_q_min_q4_K(const unsigned char *b, int h)
{
    return -(ND_Q_HALF(b + 2) * nd_q_six_min(b + 4, h / 2));
}

ND_Q_FN int nd_q_code_q5_K(const unsigned char *b, int h, int l)
{
    const unsigned high = (unsigned)b[16 + 16 * (h % 2) + l] >> h / 2 & 1u;
    return (int)(nd_q_nibble(b + 48 + 32 * (h / 4) + 16 * (h % 2), h / 2 % 2, l) | high << 4);
}
ND_Q_FN int nd_q_step_q5_K(const unsigned char *b, int h)
{
    return (int)nd_q_six_scale(b + 4, h / 2);
}
ND_Q_FN float nd_q_unit_q5_K(const unsigned char *b)
{
    return ND_Q_HALF(b);
}
ND_Q_FN int nd_q_least_q5_K(const unsigned char *b, int h)
{
    return (int)nd_q_six_min(b + 4, h / 2);
}
ND_Q_FN float nd_q_low_q5_K(const unsigned char *b)
{
    return -ND_Q_HALF(b + 2);
}
ND_Q_FN float nd_q_scale_q5_K(const unsigned char *b, int h)
{
    return ND_Q_HALF(b) * nd_q_six_scale(b + 4, h / 2);
}
ND_Q_FN float nd_q_min_q5_K(const unsigned char *b, int h)
{
    return -(ND_Q_HALF(b + 2) * nd_q_six_min(b + 4, h / 2));
}

ND_Q_FN int nd_q_code_q6_K(const unsigned char *b, int h, int l)
{
    const unsigned low = nd_q_nibble(b + 64 * (h / 8) + 16 * (h % 4), h % 8 / 4, l);
    const unsigned high = (unsigned)b[128 + nd_q_pair_at(h) + l] >> nd_q_pair_shift(h) & 3u;
    return (int)(low | high << 4) - 32;
}
ND_Q_FN int nd_q_step_q6_K(const unsigned char *b, int h)
{
    return (signed char)b[192 + h];
}
ND_Q_FN float nd_q_unit_q6_K(const unsigned char *b)
{
    return ND_Q_HALF(b + 208);
}
ND_Q_FN float nd_q_scale_q6_K(const unsigned char *b, int h)
{
    return nd_q_unit_q6_K(b) * (float)nd_q_step_q6_K(b, h);
}

ND_Q_FN int nd_q_code_iq4_nl(const unsigned char *b, int h, int l)
{
    /* The table's 16 values, four in a word, low byte first: -127 -104 -83 -65, -49 -35 -22 -10,
     * 1 13 25 38, 53 69 89 113. */
    const unsigned i = nd_q_nibble(b + 2, h, l);
    const unsigned word =
        i < 8 ? (i < 4 ? 0xbfad9881u : 0xf6eaddcfu) : (i < 12 ? 0x26190d01u : 0x71594535u);
    return (int)(signed char)(word >> 8 * (i & 3u) & 255u);
}
ND_Q_FN float nd_q_scale_iq4_nl(const unsigned char *b, int h)
{
    (void)h;
    return ND_Q_HALF(b);
}
