// The registers of a peripheral, the transfer of a UARTE, and the events of an RTC.
//
// What the counting core of the built-in simulator does for its models, this does for models.cs.

using System;
using System.Collections.Generic;
using System.Linq;

namespace Antmicro.Renode.Peripherals.Nordic
{
    public class Registers
    {
        public Registers(Chip chip, long size)
        {
            this.chip = chip;
            words = new uint[size / 4];
            due = new long[RtcEvents];
            skipped = new long[RtcChannels];
            Ticks = 1;
            ClearSchedule();
        }

        public long this[long offset]
        {
            get { return words[offset / 4]; }
            set { words[offset / 4] = (uint)value; }
        }

        public void Clear()
        {
            Array.Clear(words, 0, words.Length);
        }

        // Sets an event; returns whether anybody notices: an interrupt, a shortcut, a DPPI channel.
        public bool RaiseEvent(long offset)
        {
            this[offset] = 1;
            bool interrupts = (this[Nordic.Inten] >> (int)(offset - Nordic.FirstEvent) / 4 & 1) != 0;
            return interrupts || this[Nordic.Shorts] != 0 || this[offset + Nordic.PublishAt] != 0;
        }

        public bool Level { get; set; }

        // -- the transfer of a UARTE -------------------------------------------------------------

        // Not empty while bytes leave, or wait for the model.
        public byte[] Transfer { get { return Sending || Waits ? bytes : new byte[0]; } }

        public bool Sending { get; private set; }

        // STOPTX: the current byte is the last one.
        public bool Stopping { get; private set; }

        // The model must take bytes, or raise events.
        public bool Waits { get; private set; }

        public long Sent { get; private set; }

        public long ToSend { get; private set; }

        // The index of the first byte that changed after STARTTX, or ToSend.
        public long Changed { get; private set; }

        public void SetSender(bool received, long ticks)
        {
            ticksPerByte = ticks;
        }

        public void Begin()
        {
            pointer = this[TxdPtr];
            ToSend = Changed = this[TxdMaxcnt] & MostBytes;
            Sent = taken = 0;
            Stopping = Waits = false;
            Sending = ToSend > 0;
            NextByte = chip.Now + ticksPerByte;
            bytes = chip.ReadMemory(pointer, ToSend);
        }

        // The current byte has been sent; the next one is read by EasyDMA.
        public void SendByte()
        {
            Sent++;
            NextByte += ticksPerByte;
            Sending = Sent < ToSend && !Stopping;
            if(Sending)
            {
                byte read = chip.ReadMemory(pointer + Sent, 1)[0];
                Changed = read != bytes[Sent] && Changed == ToSend ? Sent : Changed;
                bytes[Sent] = read;
            }
            else
            {
                this[TxdAmount] = Sent;
            }
            bool noticed = RaiseEvent(Txdrdy);
            Waits |= noticed || !Sending || bytes[Sent - 1] == '\n';
        }

        public byte[] TakeSent()
        {
            byte[] sent = bytes.Skip((int)taken).Take((int)(Sent - taken)).ToArray();
            taken = Sent;
            Waits = false;
            return sent;
        }

        public void StopSending(bool now)
        {
            ToSend = Sending && now ? Sent : ToSend;
            Stopping |= Sending;
            Sending &= !now;
        }

        // The tick at which the current byte has been sent.
        public long NextByte { get; private set; }

        // The tick until which the transfer depends on memory alone: nobody notices its bytes.
        public long NextNoticed
        {
            get
            {
                bool noticed = (this[Nordic.Inten] >> (int)(Txdrdy - Nordic.FirstEvent) / 4 & 1) != 0;
                bool published = this[Txdrdy + Nordic.PublishAt] != 0;
                bool quiet = !noticed && !published && this[Txdrdy] != 0 && !Stopping;
                return NextByte + (quiet ? ticksPerByte * (ToSend - Sent - 1) : 0);
            }
        }

        // -- the events of an RTC ----------------------------------------------------------------

        public bool Running { get; set; }

        // The counter's value at edge Since of its clock, which has Edges edges in Ticks ticks.
        public long Base { get; set; }

        public long Since { get; set; }

        public long Edges { get; set; }

        public long Ticks { get; set; }

        // A CC that is less far ahead may miss its count.
        public long Soonest { get; set; }

        // Setting it cancels all events.
        public byte[] Schedule { set { ClearSchedule(); } }

        public long Due { get { return due.Min(); } }

        public long Count(long now)
        {
            return Running ? Base + (now * Edges / Ticks - Since) / Step : Base;
        }

        // The tick of the next count of a counter that runs.
        public long NextCount(long now)
        {
            return TickOf(Since + (Count(now) - Base + 1) * Step);
        }

        public void Arrange(long now)
        {
            Arrange(~0L, now);
        }

        public void SetRtc(long offset, long value, long now)
        {
            if(offset >= Cc)
            {
                this[offset] = value & Wrap - 1;
                Arrange(1L << EventBits[FirstCompare + (offset - Cc) / 4], now);
                return;
            }
            long before = Wanted;
            long all = offset & ~0xFL;
            bool sets = (offset & 0xF) == 4, clears = (offset & 0xF) == 8;
            this[all] = sets ? this[all] | value : clears ? this[all] & ~value : value;
            this[all + 4] = this[all + 8] = this[all];
            Arrange(before ^ Wanted, now);
        }

        // The offset of an event that is due, which is arranged anew; 0 if none is.
        public long TakeDue(long now)
        {
            int first = Array.IndexOf(due, due.Min());
            if(due[first] > now)
            {
                return 0;
            }
            Arrange(1L << EventBits[first], now);
            return Nordic.FirstEvent + 4 * EventBits[first];
        }

        // The count that CC of a channel missed when it was written; -1 for none.
        public void Skip(long channel, long total)
        {
            skipped[channel] = total;
        }

        private void ClearSchedule()
        {
            for(int i = 0; i < RtcEvents; i++)
            {
                due[i] = Chip.Never;
            }
            for(int i = 0; i < RtcChannels; i++)
            {
                skipped[i] = -1;
            }
        }

        // When the events come whose bits are given.
        private void Arrange(long events, long now)
        {
            long total = Count(now);
            for(int i = 0; i < RtcEvents; i++)
            {
                if((events >> EventBits[i] & 1) == 0)
                {
                    continue;
                }
                bool comes = Running && (Wanted >> EventBits[i] & 1) != 0;
                due[i] = comes ? TickOf(Since + (total - Base + Ahead(i, total)) * Step) : Chip.Never;
            }
        }

        private long TickOf(long edge)
        {
            return (edge * Ticks + Edges - 1) / Edges;
        }

        // Counts from "total" to an event.
        private long Ahead(int number, long total)
        {
            if(number < FirstCompare)
            {
                return number == 0 ? 1 : Wrap - total % Wrap;  // TICK, OVRFLW
            }
            int channel = number - FirstCompare;
            long ahead = this[Cc + 4 * channel] - total & Wrap - 1;
            ahead = ahead == 0 ? Wrap : ahead;
            return total + ahead == skipped[channel] ? ahead + Wrap : ahead;
        }

        private long Wanted { get { return this[Evten] | this[Nordic.Inten]; } }

        private long Step { get { return (this[Prescaler] & 0xFFF) + 1; } }

        private byte[] bytes = new byte[0];
        private long pointer, taken, ticksPerByte;

        private readonly Chip chip;
        private readonly uint[] words;
        private readonly long[] due;  // ticks
        private readonly long[] skipped;

        private const long TxdPtr = 0x544, TxdMaxcnt = 0x548, TxdAmount = 0x54C, Txdrdy = 0x11C;
        private const long MostBytes = 0x1FFF;
        private const long Evten = 0x340, Cc = 0x540, Prescaler = 0x508, Wrap = 1 << 24;
        private const int RtcChannels = 4, FirstCompare = 2, RtcEvents = FirstCompare + RtcChannels;
        private static readonly int[] EventBits = { 0, 1, 16, 17, 18, 19 };
    }
}
