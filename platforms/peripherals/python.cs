// What models.cs needs of Python: its division, truth, slices and texts of numbers.

using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;

namespace Antmicro.Renode.Peripherals.Nordic
{
    public static class Py
    {
        // -- numbers -----------------------------------------------------------------------------

        // a // b, rounded down.
        public static long Div(long a, long b)
        {
            long quotient = a / b;
            return a % b != 0 && a < 0 != b < 0 ? quotient - 1 : quotient;
        }

        // a % b, with the sign of b.
        public static long Mod(long a, long b)
        {
            long rest = a % b;
            return rest != 0 && rest < 0 != b < 0 ? rest + b : rest;
        }

        public static long Or(long one, long other)
        {
            return one != 0 ? one : other;
        }

        public static long Int(bool value)
        {
            return value ? 1 : 0;
        }

        public static long Int(string text)
        {
            return long.Parse(text, CultureInfo.InvariantCulture);
        }

        // A number with one decimal, of which halves are rounded to even.
        public static string Tenths(double value)
        {
            double quarters = value * 4;
            bool isHalf = quarters % 2 != 0 && quarters == Math.Floor(quarters);
            double rounded = isHalf ? Math.Round(value * 10) / 10 : value;
            return rounded.ToString("F1", CultureInfo.InvariantCulture);
        }

        // -- sequences ---------------------------------------------------------------------------

        public static long[] Range(long count)
        {
            return Range(0, count);
        }

        public static long[] Range(long first, long end, long step = 1)
        {
            var found = new List<long>();
            for(long value = first; value < end; value += step)
            {
                found.Add(value);
            }
            return found.ToArray();
        }

        public static string Slice(string text, long first, long end)
        {
            var (begin, size) = Part(text.Length, first, end);
            return text.Substring(begin, size);
        }

        public static List<byte> Slice(List<byte> bytes, long first, long end)
        {
            var (begin, size) = Part(bytes.Count, first, end);
            return bytes.GetRange(begin, size);
        }

        // bytes * count
        public static byte[] Repeat(byte[] bytes, long count)
        {
            return Enumerable.Repeat(bytes, (int)count).SelectMany(one => one).ToArray();
        }

        // The bytes of a number, the lowest first.
        public static byte[] ToBytes(long value, long size)
        {
            return Range(size).Select(n => (byte)(value >> (int)(8 * n))).ToArray();
        }

        // -- dictionaries ------------------------------------------------------------------------

        public static TValue Get<TKey, TValue>(Dictionary<TKey, TValue> from, TKey key, TValue other)
        {
            return from.TryGetValue(key, out TValue found) ? found : other;
        }

        public static TValue Pop<TKey, TValue>(Dictionary<TKey, TValue> from, TKey key, TValue other)
        {
            TValue found = Get(from, key, other);
            from.Remove(key);
            return found;
        }

        // Begin and size of a slice; negative indices count from the end.
        private static (int, int) Part(long length, long first, long end)
        {
            long begin = Math.Min(first < 0 ? Math.Max(0, first + length) : first, length);
            long last = Math.Min(end < 0 ? end + length : end, length);
            return ((int)begin, (int)Math.Max(0, last - begin));
        }
    }
}
