// RTC and TIMER of the nRF9160 for Renode 1.17 or later, compiled by Renode at its start.
//
// Registers and rules: nRF9160 Product Specification v2.1, "RTC" and "TIMER". Both count pulses of a
// clock. The counter is computed from the virtual time when it is read; an alarm of the clock source
// runs only for a match that interrupts or has a shortcut, so that a sleeping core skips the others.
// Renode's own models lack RTC's overflow, at which Zephyr's time ends, and TIMER's SHUTDOWN, SHORTS and
// BITMODE. Lost: PUBLISH and SUBSCRIBE (see dppic.py), and that LFCLK has to be started for RTC.

using System;

using Antmicro.Renode.Core;
using Antmicro.Renode.Logging;
using Antmicro.Renode.Peripherals.Bus;
using Antmicro.Renode.Peripherals.CPU;
using Antmicro.Renode.Time;

namespace Antmicro.Renode.Peripherals.Timers
{
    // What both have: tasks, events, compare registers, and a count that follows a clock.
    public abstract class NordicCounter : IDoubleWordPeripheral, IKnownSize
    {
        protected NordicCounter(IMachine machine, ulong clockHz, int channels)
        {
            this.machine = machine;
            this.clockHz = clockHz;
            IRQ = new GPIO();
            cc = new uint[channels];
            notBefore = new ulong[channels];
            alarm = new LimitTimer(machine.ClockSource, NanosecondsPerSecond, this, "next match",
                limit: 1, workMode: WorkMode.OneShot, eventEnabled: true, autoUpdate: true);
            alarm.LimitReached += OnAlarm;
        }

        public virtual void Reset()
        {
            alarm.Reset();
            armedFor = 0;
            Array.Clear(cc, 0, cc.Length);
            Array.Clear(notBefore, 0, notBefore.Length);
            started = false;
            start = seen = since = 0;
            events = enabled = 0;
            IRQ.Set(false);
        }

        public uint ReadDoubleWord(long offset)
        {
            Synchronize();
            if(IsEvent(offset))
            {
                return events >> Bit(offset) & 1;
            }
            if(IsCompare(offset))
            {
                return cc[(offset - FirstCompare) / 4];
            }
            switch(offset)
            {
            case IntenSet:
            case IntenClear:
                return enabled;
            default:
                return ReadOwn(offset);
            }
        }

        public void WriteDoubleWord(long offset, uint value)
        {
            Synchronize();
            if(IsEvent(offset))
            {
                events = events & ~(1u << Bit(offset)) | (value & 1) << Bit(offset);
            }
            else if(IsCompare(offset))
            {
                WriteCompare((int)(offset - FirstCompare) / 4, value);
            }
            else if(offset == IntenSet)
            {
                enabled |= value;
            }
            else if(offset == IntenClear)
            {
                enabled &= ~value;
            }
            else if(offset >= FirstEvent || (value & 1) != 0)  // a task is triggered by a 1
            {
                WriteOwn(offset, value);
            }
            Arm();
        }

        public long Size { get { return 0x1000; } }

        public GPIO IRQ { get; private set; }

        // -- what RTC and TIMER do differently ---------------------------------------------------

        protected abstract uint ReadOwn(long offset);

        protected abstract void WriteOwn(long offset, uint value);

        protected abstract bool IsEvent(long offset);

        protected abstract ulong PulsesPerCount { get; }

        protected abstract ulong Modulus { get; }

        // Whether time moves the counter.
        protected virtual bool Running { get { return started; } }

        // Events, by bit, that are raised at all.
        protected virtual uint Raised { get { return ~0u; } }

        // Channels, by bit, whose match clears the counter; and whose match stops it.
        protected virtual uint Clearing { get { return 0; } }

        protected virtual uint Stopping { get { return 0; } }

        // Counts from "count" to the next one that raises the event, at least 1; 0 for never.
        protected virtual ulong Ahead(int bit, ulong count)
        {
            int channel = bit - FirstCompareBit;
            if(channel < 0 || channel >= cc.Length)
            {
                return 0;
            }
            ulong from = Math.Max(count, notBefore[channel]);
            ulong distance = (cc[channel] % Modulus + Modulus - from % Modulus) % Modulus;
            return from - count + (distance == 0 ? Modulus : distance);
        }

        protected virtual void WriteCompare(int channel, uint value)
        {
            cc[channel] = value;
            notBefore[channel] = 0;
        }

        // -- tasks -------------------------------------------------------------------------------

        protected void Start()
        {
            if(!started)
            {
                started = true;
                SetCount(start);
            }
        }

        protected void Stop()
        {
            ulong count = Count;
            started = false;
            SetCount(count);
        }

        protected void SetCount(ulong count)
        {
            start = seen = count % Modulus;
            since = Pulses(now);
            Array.Clear(notBefore, 0, notBefore.Length);
        }

        protected void Raise(int bit)
        {
            events |= Raised & 1u << bit;
        }

        // The shortcuts of the channels, by bit, that match.
        protected void TakeShortcuts(uint matched)
        {
            if((matched & Stopping) != 0)
            {
                started = false;
            }
            if((matched & Clearing) != 0)
            {
                start = 0;
            }
            seen = start;
            Array.Clear(notBefore, 0, notBefore.Length);
        }

        // The counter as if it did not wrap.
        protected ulong Total
        {
            get { return Running ? start + (Pulses(now) - since) / PulsesPerCount : start; }
        }

        protected ulong Count { get { return Total % Modulus; } }

        protected uint[] cc;
        protected ulong[] notBefore;  // by channel: the total up to which matches are missed
        protected uint events, enabled;
        protected bool started;
        protected ulong start;  // the count at pulse "since"

        protected const int FirstCompareBit = 16;

        // -- time --------------------------------------------------------------------------------

        // Bring the clock source to the instruction that accesses a register, and the events to now.
        private void Synchronize()
        {
            ICPU cpu;
            if(machine.SystemBus.TryGetCurrentCPU(out cpu))
            {
                cpu.SyncTime();
            }
            CatchUp();
        }

        private void OnAlarm()
        {
            armedFor = 0;
            CatchUp();
            Arm();
        }

        // Raise what has matched since the last time, and take the shortcuts where they lie.
        private void CatchUp()
        {
            now = machine.ClockSource.CurrentValue.Ticks;
            while(Running && Total > seen)
            {
                uint shortcuts = Clearing | Stopping;
                ulong last = Math.Min(Total, seen + Nearest(shortcuts << FirstCompareBit, Total - seen));
                uint matched = 0;
                for(int bit = 0; bit < 32; bit++)
                {
                    ulong ahead = Ahead(bit, seen);
                    if(ahead == 0 || seen + ahead > last)
                    {
                        continue;
                    }
                    Raise(bit);
                    if(bit >= FirstCompareBit && seen + ahead == last)
                    {
                        matched |= 1u << bit - FirstCompareBit;
                    }
                }
                seen = last;
                if((matched & shortcuts) != 0)
                {
                    since += (last - start) * PulsesPerCount;
                    start = last % Modulus;
                    TakeShortcuts(matched);
                }
            }
        }

        // Counts to the nearest match of the events, by bit; "otherwise" if none has one.
        private ulong Nearest(uint wanted, ulong otherwise)
        {
            ulong nearest = 0;
            for(int bit = 0; bit < 32; bit++)
            {
                ulong ahead = (wanted >> bit & 1) != 0 ? Ahead(bit, seen) : 0;
                if(ahead != 0 && (nearest == 0 || ahead < nearest))
                {
                    nearest = ahead;
                }
            }
            return nearest == 0 ? otherwise : nearest;
        }

        // Set the interrupt's line, and the alarm to the next match that somebody notices.
        private void Arm()
        {
            IRQ.Set((events & enabled) != 0);
            uint wanted = enabled & Raised & ~events | (Clearing | Stopping) << FirstCompareBit;
            ulong ahead = Running ? Nearest(wanted, 0) : 0;
            ulong due = ahead == 0 ? 0 : Time(since + (seen + ahead - start) * PulsesPerCount);
            if(due == armedFor)
            {
                return;
            }
            armedFor = due;
            alarm.Enabled = false;
            if(due != 0)
            {
                alarm.Limit = due > now ? due - now : 1;
                alarm.Enabled = true;
            }
        }

        // Pulses of the clock in so many nanoseconds; and the time by which there were so many.
        private ulong Pulses(ulong nanoseconds)
        {
            ulong seconds = nanoseconds / NanosecondsPerSecond;
            return seconds * clockHz + nanoseconds % NanosecondsPerSecond * clockHz / NanosecondsPerSecond;
        }

        private ulong Time(ulong pulses)
        {
            ulong rest = pulses % clockHz * NanosecondsPerSecond;
            return pulses / clockHz * NanosecondsPerSecond + (rest + clockHz - 1) / clockHz;
        }

        private bool IsCompare(long offset)
        {
            return offset >= FirstCompare && offset < FirstCompare + 4 * cc.Length;
        }

        private static int Bit(long offset)
        {
            return (int)(offset - FirstEvent) / 4;
        }

        private readonly IMachine machine;
        private readonly LimitTimer alarm;
        private readonly ulong clockHz;
        private ulong now;  // ns of virtual time
        private ulong since;  // the pulse at which the count was "start"
        private ulong seen;  // the total up to which matches have raised their events
        private ulong armedFor;  // ns of virtual time; 0 if the alarm is off

        private const long FirstEvent = 0x100, IntenSet = 0x304, IntenClear = 0x308, FirstCompare = 0x540;
        private const int NanosecondsPerSecond = 1000000000;
    }

    // 24 bits at 32,768 Hz. An event is raised only if EVTEN or INTEN has its bit.
    public class Nrf9160Rtc : NordicCounter
    {
        public Nrf9160Rtc(IMachine machine) : base(machine, 32768, 4)
        {
        }

        public override void Reset()
        {
            prescaler = evten = 0;
            base.Reset();
        }

        protected override ulong PulsesPerCount { get { return prescaler + 1; } }

        protected override ulong Modulus { get { return 1u << 24; } }

        protected override uint Raised { get { return evten | enabled; } }

        protected override bool IsEvent(long offset)
        {
            return offset == 0x100 || offset == 0x104 || offset >= 0x140 && offset < 0x150;
        }

        protected override ulong Ahead(int bit, ulong count)
        {
            switch(bit)
            {
            case 0:
                return 1;  // TICK
            case 1:
                return Modulus - count % Modulus;  // OVRFLW
            default:
                return base.Ahead(bit, count);
            }
        }

        // A value that is the count, or one more, may be missed ("COMPARE"); it is met a turn later.
        protected override void WriteCompare(int channel, uint value)
        {
            base.WriteCompare(channel, value & 0xFFFFFF);
            ulong distance = (cc[channel] + Modulus - Count) % Modulus;
            if(Running && distance < 2)
            {
                notBefore[channel] = Total + distance;
            }
        }

        protected override uint ReadOwn(long offset)
        {
            switch(offset)
            {
            case 0x340:
            case 0x344:
            case 0x348:
                return evten;
            case 0x504:
                return (uint)Count;
            case 0x508:
                return prescaler;
            default:
                this.LogUnhandledRead(offset);
                return 0;
            }
        }

        protected override void WriteOwn(long offset, uint value)
        {
            switch(offset)
            {
            case 0x000:
                Start();
                break;
            case 0x004:
                Stop();
                break;
            case 0x008:
                SetCount(0);
                break;
            case 0x00C:
                SetCount(0xFFFFF0);  // TRIGOVRFLW
                break;
            case 0x340:
                evten = value;
                break;
            case 0x344:
                evten |= value;
                break;
            case 0x348:
                evten &= ~value;
                break;
            case 0x508:
                prescaler = started ? prescaler : value & 0xFFF;  // fixed while it runs
                break;
            default:
                this.LogUnhandledWrite(offset, value);
                break;
            }
        }

        private uint prescaler, evten;
    }

    // 8 to 32 bits at 16 MHz / 2^PRESCALER, or a counter of TASKS_COUNT.
    public class Nrf9160Timer : NordicCounter
    {
        // Counted in pulses of 64 MHz, so that it may be started between two pulses of its own clock.
        public Nrf9160Timer(IMachine machine) : base(machine, 64000000, Channels)
        {
            prescaler = PrescalerAtReset;
        }

        public override void Reset()
        {
            shortcuts = mode = bitmode = 0;
            prescaler = PrescalerAtReset;
            base.Reset();
        }

        protected override ulong PulsesPerCount { get { return 4ul << (int)Math.Min(prescaler, 9u); } }

        protected override ulong Modulus { get { return 1ul << Widths[bitmode & 3]; } }

        protected override bool Running { get { return started && (mode & 3) == 0; } }

        protected override uint Clearing { get { return shortcuts & (1u << Channels) - 1; } }

        protected override uint Stopping { get { return shortcuts >> 8 & (1u << Channels) - 1; } }

        protected override bool IsEvent(long offset)
        {
            return offset >= 0x140 && offset < 0x140 + 4 * Channels;
        }

        protected override uint ReadOwn(long offset)
        {
            switch(offset)
            {
            case 0x200:
                return shortcuts;
            case 0x504:
                return mode;
            case 0x508:
                return bitmode;
            case 0x510:
                return prescaler;
            default:
                this.LogUnhandledRead(offset);
                return 0;
            }
        }

        protected override void WriteOwn(long offset, uint value)
        {
            if(offset >= 0x040 && offset < 0x040 + 4 * Channels)  // TASKS_CAPTURE
            {
                WriteCompare((int)(offset - 0x040) / 4, (uint)Count);
                return;
            }
            ulong count = Count;  // the registers of the clock keep it
            switch(offset)
            {
            case 0x000:
                Start();
                break;
            case 0x004:
                Stop();
                break;
            case 0x008:
                CountOne();
                break;
            case 0x00C:
                SetCount(0);
                break;
            case 0x010:  // SHUTDOWN
                Stop();
                SetCount(0);
                break;
            case 0x200:
                shortcuts = value;
                break;
            case 0x504:
                mode = value;
                SetCount(count);
                break;
            case 0x508:
                bitmode = value;
                SetCount(count);
                break;
            case 0x510:
                prescaler = value & 0xF;
                SetCount(count);
                break;
            default:
                this.LogUnhandledWrite(offset, value);
                break;
            }
        }

        private void CountOne()
        {
            if(!started || (mode & 3) == 0)
            {
                return;
            }
            SetCount(start + 1);
            uint matched = 0;
            for(int channel = 0; channel < Channels; channel++)
            {
                if(cc[channel] % Modulus == start)
                {
                    Raise(FirstCompareBit + channel);
                    matched |= 1u << channel;
                }
            }
            TakeShortcuts(matched);
        }

        private uint shortcuts, mode, bitmode, prescaler;

        private static readonly int[] Widths = { 16, 8, 24, 32 };
        private const int Channels = 6;
        private const uint PrescalerAtReset = 4;
    }
}
