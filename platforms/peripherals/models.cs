// Models of Nordic's peripherals for Renode 1.17 or later, compiled by Renode at its start.
//
// Generated from harness/simulator/peripherals by tests/support/renode_platforms.py: a model is
// changed there, and this file is written anew. Its methods are those of Python, statement by
// statement; what they stand on is written by hand: Device, Nordic (device.cs), Registers, Chip and
// Py (python.cs). Registers, tasks and events are declared with the values that the classes have in
// Python. What only the built-in simulator asks of a model is left out: its snapshots, and why an
// interrupt does not come.

using System;
using System.Collections.Generic;
using System.Linq;

namespace Antmicro.Renode.Peripherals.Nordic
{
    // The instruction and data cache: registers only, without timing or hit counters.
    public partial class CacheControl : Device
    {
        public CacheControl(Chip chip, string block) : base(chip, block)
        {
        }

        public void WriteErase(long value)
        {
            Regs[Erasestatus] |= value & 1;
        }

        protected override void Declare()
        {
            Registers(0x400, "PROFILING", 4, access: "r");
            Registers(0x420, "PROFILING_BUFFER", 4, access: "r");
            Register(0x500, "ENABLE");
            Register(0x504, "INVALIDATE", access: "w");
            Register(0x508, "ERASE", access: "w", write: WriteErase);
            Register(0x50C, "PROFILINGENABLE");
            Register(0x510, "PROFILINGCLEAR", access: "w");
            Register(0x514, "MODE");
            Register(0x518, "DEBUGLOCK");
            Register(0x51C, "ERASESTATUS");
            Register(0x520, "WRITELOCK");
        }

        private const long Erasestatus = 0x51C;
    }

    // Oscillators with their start-up times; reset reasons; retained registers.
    public partial class Clock : Nordic
    {
        public Clock(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            LfclkRuns = false;
            var retained = Retained.ToDictionary(offset => offset, offset => Regs[offset]);
            base.Reset();
            foreach(var (offset, value) in retained)
            {
                Regs[offset] = value;
            }
        }

        // Clears the bits that are written as ones.
        public void WriteResetreas(long value)
        {
            Regs[Resetreas] &= ~value;
        }

        // Sets a bit of RESETREAS; bits stay set until the firmware clears them.
        public void AddResetReason(long bit)
        {
            Regs[Resetreas] |= 1L << (int)bit;
        }

        // Calls changed(runs) whenever LFCLK starts or stops.
        public void OnLfclk(Action<bool> changed)
        {
            Listeners.Add(changed);
        }

        protected void SwitchLfclk(bool runs)
        {
            if(runs != LfclkRuns)
            {
                LfclkRuns = runs;
                foreach(var changed in Listeners)
                {
                    changed(runs);
                }
            }
        }

        protected void After(string tag, double seconds)
        {
            long ticks = (long)Math.Round(seconds * Chip.MemoryMap.CpuHz);
            Chip.Schedule(Name, tag, Chip.Now + ticks);
        }

        public void TaskHfclkstart()
        {
            Regs[Hfclkrun] = 1;
            After("hfclk", HfxoSeconds);
        }

        public void TaskHfclkstop()
        {
            Regs[Hfclkrun] = 0;
            Regs[Hfclkstat] = 0;
            Chip.Cancel(Name, "hfclk");
        }

        public void TaskLfclkstart()
        {
            long source = Regs[Lfclksrc] & 3;
            if(Regs[Lfclkrun] == 0)
            {
                After("lfrc", LfrcSeconds);
            }
            Regs[Lfclkrun] = 1;
            Regs[Lfclksrccopy] = source;
            After("lfclk", source == SourceLfxo ? LfxoSeconds : LfrcSeconds);
        }

        public void TaskLfclkstop()
        {
            Regs[Lfclkrun] = 0;
            Regs[Lfclkstat] = 0;
            Chip.Cancel(Name, "lfclk");
            Chip.Cancel(Name, "lfrc");
            SwitchLfclk(false);
        }

        // No effect: wake-up latency and current are not modelled.
        public void TaskConstlat()
        {
        }

        // No effect: wake-up latency and current are not modelled.
        public void TaskLowpwr()
        {
        }

        public override void Fire(string tag)
        {
            if(tag == "hfclk")
            {
                Regs[Hfclkstat] = StateRunning | 1;
                Event("HFCLKSTARTED");
            }
            else if(tag == "lfrc")
            {
                SwitchLfclk(true);
            }
            else
            {
                Regs[Lfclkstat] = StateRunning | Regs[Lfclksrccopy];
                Event("LFCLKSTARTED");
            }
        }

        protected override void Declare()
        {
            Task(0x000, "HFCLKSTART", TaskHfclkstart);
            Task(0x004, "HFCLKSTOP", TaskHfclkstop);
            Task(0x008, "LFCLKSTART", TaskLfclkstart);
            Task(0x00C, "LFCLKSTOP", TaskLfclkstop);
            Task(0x078, "CONSTLAT", TaskConstlat);
            Task(0x07C, "LOWPWR", TaskLowpwr);
            Event(0x100, "HFCLKSTARTED");
            Event(0x104, "LFCLKSTARTED");
            Event(0x108, "POFWARN");
            Event(0x114, "SLEEPENTER");
            Event(0x118, "SLEEPEXIT");
            Register(0x400, "RESETREAS", write: WriteResetreas);
            Register(0x408, "HFCLKRUN", access: "r");
            Register(0x40C, "HFCLKSTAT", access: "r");
            Register(0x414, "LFCLKRUN", access: "r");
            Register(0x418, "LFCLKSTAT", access: "r");
            Register(0x41C, "LFCLKSRCCOPY", reset: 1, access: "r");
            Register(0x440, "POWERSTATUS", reset: 1, access: "r");
            Register(0x518, "LFCLKSRC", reset: 1);
            Registers(0x51C, "GPREGRET", 2);
        }

        protected List<Action<bool>> Listeners = new List<Action<bool>>();
        public bool LfclkRuns;

        private const long Resetreas = 0x400, Hfclkrun = 0x408, Hfclkstat = 0x40C, Lfclkrun = 0x414;
        private const long Lfclksrc = 0x518, Lfclksrccopy = 0x41C, Lfclkstat = 0x418;
        private const long StateRunning = 0x10000;
        private const long SourceLfxo = 2;
        // Start-up times in seconds: typical values of the nRF9160 PS ("CLOCK", electrical specification),
        // from memory.
        private const double HfxoSeconds = 0.000_060;
        private const double LfrcSeconds = 0.000_600;
        private const double LfxoSeconds = 0.250;
        // Registers that a reset retains.
        private static readonly long[] Retained = new long[] { 0x400, 0x51C, 0x520 };
    }

    // CLOCK, POWER and RESET.
    public partial class ClockAndReset : Clock
    {
        public ClockAndReset(Chip chip, string block) : base(chip, block)
        {
        }

        public void WriteHfclkctrl(long value)
        {
            Regs[Hfclkctrl] = value & 1;
            if((value & 1) == 0)
            {
                var text = "HFCLKCTRL selects 128 MHz; the simulator keeps counting time at 64 MHz";
                Chip.Report("approximation", $"{Name}.HFCLKCTRL", text);
            }
        }

        public void WriteNetworkForceoff(long value)
        {
            Regs[Forceoff] = value & 1;
            if((value & 1) == 0)
            {
                var text = "RESET.NETWORK.FORCEOFF releases the network core, which is not modelled";
                Chip.Report("approximation", Network, text);
            }
        }

        public void TaskHfclkaudiostart()
        {
            Regs[Audiorun] = 1;
            After("hfclkaudio", HfxoSeconds);
        }

        public void TaskHfclkaudiostop()
        {
            Regs[Audiorun] = 0;
            Regs[Audiostat] = 0;
            Chip.Cancel(Name, "hfclkaudio");
        }

        public void TaskHfclk192mstart()
        {
            Regs[Hf192run] = 1;
            After("hfclk192m", HfxoSeconds);
        }

        public void TaskHfclk192mstop()
        {
            Regs[Hf192run] = 0;
            Regs[Hf192stat] = 0;
            Chip.Cancel(Name, "hfclk192m");
        }

        public override void Fire(string tag)
        {
            if(tag == "hfclkaudio")
            {
                Regs[Audiostat] = StateRunning;
                Event("HFCLKAUDIOSTARTED");
            }
            else if(tag == "hfclk192m")
            {
                Regs[Hf192stat] = StateRunning | Regs[Hf192src] & 1;
                Event("HFCLK192MSTARTED");
            }
            else
            {
                base.Fire(tag);
            }
        }

        protected override void Declare()
        {
            base.Declare();
            Task(0x018, "HFCLKAUDIOSTART", TaskHfclkaudiostart);
            Task(0x01C, "HFCLKAUDIOSTOP", TaskHfclkaudiostop);
            Task(0x020, "HFCLK192MSTART", TaskHfclk192mstart);
            Task(0x024, "HFCLK192MSTOP", TaskHfclk192mstop);
            Event(0x11C, "DONE");
            Event(0x120, "HFCLKAUDIOSTARTED");
            Event(0x124, "HFCLK192MSTARTED");
            Register(0x450, "HFCLKAUDIORUN", access: "r");
            Register(0x454, "HFCLKAUDIOSTAT", access: "r");
            Register(0x458, "HFCLK192MRUN", access: "r");
            Register(0x45C, "HFCLK192MSTAT", access: "r");
            Register(0x514, "HFCLKSRC", reset: 1);
            Register(0x558, "HFCLKCTRL", reset: 1, write: WriteHfclkctrl);
            Register(0x55C, "HFCLKAUDIO_FREQUENCY", reset: 0x9BAE);
            Register(0x570, "HFCLKALWAYSRUN");
            Register(0x574, "LFCLKALWAYSRUN");
            Register(0x57C, "HFCLKAUDIOALWAYSRUN");
            Register(0x580, "HFCLK192MSRC", reset: 1);
            Register(0x584, "HFCLK192MALWAYSRUN");
            Register(0x5B8, "HFCLK192MCTRL", reset: 2);
            Register(0x614, "NETWORK_FORCEOFF", reset: 1, write: WriteNetworkForceoff);
        }

        private const long Audiorun = 0x450, Audiostat = 0x454;
        private const long Hf192run = 0x458, Hf192stat = 0x45C, Hf192src = 0x580;
        private const long Hfclkctrl = 0x558, Forceoff = 0x614;
        private const string Network = "network core";
        private const long StateRunning = 0x10000;
        // Start-up times in seconds: typical values of the nRF9160 PS ("CLOCK", electrical specification),
        // from memory.
        private const double HfxoSeconds = 0.000_060;
    }

    // The debugger's mailbox and erase protection (nRF9160 PS, "CTRL-AP").
    public partial class CtrlAp : Device
    {
        public CtrlAp(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Register(0x400, "MAILBOX_RXDATA", access: "r");
            Register(0x404, "MAILBOX_RXSTATUS", access: "r");
            Register(0x480, "MAILBOX_TXDATA");
            Register(0x484, "MAILBOX_TXSTATUS", access: "r");
            Register(0x500, "ERASEPROTECT_LOCK");
            Register(0x504, "ERASEPROTECT_DISABLE");
        }
    }

    // CTRL-AP with the registers that lock and unlock the access ports.
    public partial class ProtectedCtrlAp : CtrlAp
    {
        public ProtectedCtrlAp(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            base.Declare();
            Register(0x540, "APPROTECT_LOCK");
            Register(0x544, "APPROTECT_DISABLE");
            Register(0x548, "SECUREAPPROTECT_LOCK");
            Register(0x54C, "SECUREAPPROTECT_DISABLE");
            Register(0x600, "STATUS", access: "r");
        }
    }

    // DCNF and FPU, which share one block: CPUID is 0, and the FPU raises no interrupts.
    public partial class Dcnf : Device
    {
        public Dcnf(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Registers(0x100, "EVENTS_FPU", 6);
            Register(0x300, "INTEN");
            Register(0x304, "INTENSET");
            Register(0x308, "INTENCLR");
            Register(0x420, "CPUID", access: "r");
            Register(0x440, "EXTPERI_PROTECT");
            Register(0x460, "EXTRAM_PROTECT");
            Register(0x480, "EXTCODE_PROTECT");
        }
    }

    // Channel enables and channel groups.
    public partial class Dppic : Nordic
    {
        public Dppic(Chip chip, string block) : base(chip, block)
        {
        }

        // True if channel is enabled in CHEN.
        public bool Enabled(long channel)
        {
            return (Regs[Chen] >> (int)channel & 1) != 0;
        }

        public long ReadChenset()
        {
            return Regs[Chen];
        }

        public void WriteChenset(long value)
        {
            Regs[Chen] |= value & (1L << (int)Chip.MemoryMap.DppiChannels) - 1;
        }

        public void WriteChenclr(long value)
        {
            Regs[Chen] &= ~value;
        }

        public void TaskChgEn(long group)
        {
            WriteChenset(Regs[Chg + 4 * group]);
        }

        public void TaskChgDis(long group)
        {
            WriteChenclr(Regs[Chg + 4 * group]);
        }

        protected override bool Interrupts => false;

        protected override void Declare()
        {
            foreach(var n in Py.Range(6))
            {
                Task(0x000 + 8 * n, $"CHG_EN[{n}]", () => TaskChgEn(n));
            }
            foreach(var n in Py.Range(6))
            {
                Task(0x004 + 8 * n, $"CHG_DIS[{n}]", () => TaskChgDis(n));
            }
            Register(0x500, "CHEN");
            Register(0x504, "CHENSET", read: ReadChenset, write: WriteChenset);
            Register(0x508, "CHENCLR", read: ReadChenset, write: WriteChenclr);
            Registers(0x800, "CHG", 6);
        }

        private const long Chen = 0x500, Chg = 0x800;
    }

    // Sixteen channels: TASKS_TRIGGER[n] raises EVENTS_TRIGGERED[n].
    public partial class Egu : Nordic
    {
        public Egu(Chip chip, string block) : base(chip, block)
        {
        }

        public void TaskTrigger(long index)
        {
            Event($"TRIGGERED[{index}]");
        }

        protected override void Declare()
        {
            foreach(var n in Py.Range(16))
            {
                Task(0x000 + 4 * n, $"TRIGGER[{n}]", () => TaskTrigger(n));
            }
            foreach(var n in Py.Range(16))
            {
                Event(0x100 + 4 * n, $"TRIGGERED[{n}]");
            }
        }
    }

    // Undocumented registers that the workaround of nRF5340 erratum 160 writes; without effect.
    public partial class Erratum160 : Device
    {
        public Erratum160(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Register(0x110, "ERRATUM160_110");
            Register(0x118, "ERRATUM160_118");
            Register(0x124, "ERRATUM160_124");
            Register(0x12C, "ERRATUM160_12C");
            Register(0x2A0, "ERRATUM160_2A0");
        }
    }

    // The FPU's exception unit: registers only, no interrupts.
    public partial class Fpu : Device
    {
        public Fpu(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Register(0x300, "UNUSED");
        }
    }

    // Outputs, directions, inputs, SENSE with LATCH, and the DETECT signal.
    public partial class Gpio : Device
    {
        public Gpio(Chip chip, string block) : base(chip, block)
        {
        }

        // Levels of all pins, driven by the host, by OUT or by a pull resistor; one bit each.
        public long Pads
        {
            get
            {
                long pulled = Py.Range(Pins).Where(n => (Config(n) >> 2 & 3) == PullUp)
                    .Select(n => 1L << (int)n).Sum();
                long outputs = Regs[Dir];
                long level = pulled & ~outputs | Regs[Out] & outputs;
                return (level & ~Driven | Levels & Driven) & Mask;
            }
        }

        // Levels of the pins whose input buffer is connected; 0 for the others.
        public long ReadIn()
        {
            long connected = Py.Range(Pins).Where(n => (Config(n) & Disconnect) == 0)
                .Select(n => 1L << (int)n).Sum();
            return Pads & connected;
        }

        // The DETECT signal to GPIOTE: a pin is at its SENSE level; with DETECTMODE = 1, a bit of LATCH is
        // set.
        public bool Detect => ((Regs[Detectmode] & 1) != 0 ? Regs[Latch] : Sensed()) != 0;

        protected long Config(long pin)
        {
            return Regs[PinCnf + 4 * pin];
        }

        // The pins at their SENSE level, one bit each.
        protected long Sensed()
        {
            long level = ReadIn();
            long found = 0;
            for(long pin = 0; pin < Pins; pin++)
            {
                long sense = Config(pin) >> 16 & 3;
                long high = level >> (int)pin & 1;
                if(sense == SenseHigh && high != 0 || sense == SenseLow && high == 0)
                {
                    found |= 1L << (int)pin;
                }
            }
            return found;
        }

        // Drives pin from the host; None releases it.
        public void Drive(long pin, bool? level)
        {
            long before = Pads;
            Driven = Driven & ~(1L << (int)pin) | Py.Int(level != null) << (int)pin;
            Levels = Levels & ~(1L << (int)pin) | Py.Int(level == true) << (int)pin;
            Changed(before);
        }

        protected void Changed(long before)
        {
            Regs[Latch] |= Sensed();
            long after = Pads;
            foreach(var listener in Listeners)
            {
                listener(before, after);
            }
            Chip.PinsSensed();
        }

        protected void Set(long offset, long value)
        {
            long before = Pads;
            Regs[offset] = value & Mask;
            Changed(before);
        }

        public void WriteOut(long value)
        {
            Set(Out, value);
        }

        public void WriteOutset(long value)
        {
            Set(Out, Regs[Out] | value);
        }

        public void WriteOutclr(long value)
        {
            Set(Out, Regs[Out] & ~value);
        }

        public void WriteDir(long value)
        {
            for(long pin = 0; pin < Pins; pin++)
            {
                long offset = PinCnf + 4 * pin;
                Regs[offset] = Regs[offset] & ~1 | value >> (int)pin & 1;
            }
            Set(Dir, value);
        }

        public void WriteDirset(long value)
        {
            WriteDir(Regs[Dir] | value);
        }

        public void WriteDirclr(long value)
        {
            WriteDir(Regs[Dir] & ~value);
        }

        public void WritePinCnf(long index, long value)
        {
            long before = Pads;
            Regs[PinCnf + 4 * index] = value;
            Regs[Dir] = Regs[Dir] & ~(1L << (int)index) | (value & 1) << (int)index;
            Changed(before);
        }

        public void WriteDetectmode(long value)
        {
            Regs[Detectmode] = value & 1;
            Changed(Pads);
        }

        public long ReadOutset()
        {
            return Regs[Out];
        }

        public long ReadDirset()
        {
            return Regs[Dir];
        }

        // Clears the bits that are written as ones; a pin still at its SENSE level latches anew.
        public void WriteLatch(long value)
        {
            Regs[Latch] &= ~value;
            foreach(var listener in Listeners)  // a falling edge of DETECT before it may rise again
            {
                listener(Pads, Pads);
            }
            Changed(Pads);
        }

        protected override void Declare()
        {
            Register(0x004, "OUT", write: WriteOut);
            Register(0x008, "OUTSET", read: ReadOutset, write: WriteOutset);
            Register(0x00C, "OUTCLR", read: ReadOutset, write: WriteOutclr);
            Register(0x010, "IN", access: "r", read: ReadIn);
            Register(0x014, "DIR", write: WriteDir);
            Register(0x018, "DIRSET", read: ReadDirset, write: WriteDirset);
            Register(0x01C, "DIRCLR", read: ReadDirset, write: WriteDirclr);
            Register(0x020, "LATCH", write: WriteLatch);
            Register(0x024, "DETECTMODE", write: WriteDetectmode);
            Register(0x028, "DETECTMODE_SEC");
            Registers(0x200, "PIN_CNF", 32, reset: 2, write: WritePinCnf);
        }

        public long Driven = 0;  // pins that the host drives, one bit each
        public long Levels = 0;  // levels of the driven pins, one bit each
        public List<Action<long, long>> Listeners = new List<Action<long, long>>();

        private const long Pins = 32;
        private const long Dir = 0x014, Out = 0x004, Detectmode = 0x024, Latch = 0x020, PinCnf = 0x200;
        private const long Mask = 0xFFFF_FFFF;
        // PIN_CNF.INPUT: the input buffer is disconnected (the reset value).
        private const long Disconnect = 2;
        private const long PullUp = 3;
        private const long SenseHigh = 2, SenseLow = 3;
    }

    // Eight channels: each raises an event on an edge of a pin, or drives a pin by tasks.
    public partial class Gpiote : Nordic
    {
        public Gpiote(Chip chip, string block) : base(chip, block)
        {
        }

        // Listens to changes of P0's pins.
        public override void Connect(IDictionary<string, Device> devices)
        {
            var port = (Gpio)devices["P0"];
            Gpio = port;
            port.Listeners.Add(PinsChanged);
        }

        public override void Reset()
        {
            base.Reset();
            Port = false;
        }

        protected long? Pin(long index, long mode)
        {
            long config = Regs[Config + 4 * index];
            return (config & 3) == mode ? (long?)(config >> 8 & 0x1F) : null;
        }

        protected void Drive(long index, long action)
        {
            long? pin = Pin(index, ModeTask);
            if(pin == null)
            {
                return;
            }
            long mask = 1L << (int)pin.Value;
            long @out = Gpio.Regs[Out];
            long value = Py.Get(new Dictionary<long, long> { [Rising] = @out | mask,
                [Falling] = @out & ~mask, [Toggle] = @out ^ mask }, action, @out);
            Gpio.WriteOut(value);
        }

        public void TaskOut(long index)
        {
            Drive(index, Regs[Config + 4 * index] >> 16 & 3);
        }

        public void TaskSet(long index)
        {
            Drive(index, Rising);
        }

        public void TaskClr(long index)
        {
            Drive(index, Falling);
        }

        public void WriteConfig(long index, long value)
        {
            Regs[Config + 4 * index] = value;
            if((value & 3) == ModeTask)
            {
                Gpio.WriteDirset(1L << (int)(value >> 8 & 0x1F));
                Drive(index, (value >> 20 & 1) != 0 ? Rising : Falling);
            }
        }

        // Raises IN for each edge between two sets of levels, and PORT if DETECT has risen.
        public void PinsChanged(long before, long after)
        {
            for(long index = 0; index < Channels; index++)
            {
                long? pin = Pin(index, ModeEvent);
                if(pin == null || ((before ^ after) >> (int)pin.Value & 1) == 0)
                {
                    continue;
                }
                long polarity = Regs[Config + 4 * index] >> 16 & 3;
                if((polarity & ((after >> (int)pin.Value & 1) != 0 ? Rising : Falling)) != 0)
                {
                    Event($"IN[{index}]");
                }
            }
            var port = Gpio.Detect;
            if(port && !Port)
            {
                Event("PORT");
            }
            Port = port;
        }

        protected override void Declare()
        {
            foreach(var n in Py.Range(8))
            {
                Task(0x000 + 4 * n, $"OUT[{n}]", () => TaskOut(n));
            }
            foreach(var n in Py.Range(8))
            {
                Task(0x030 + 4 * n, $"SET[{n}]", () => TaskSet(n));
            }
            foreach(var n in Py.Range(8))
            {
                Task(0x060 + 4 * n, $"CLR[{n}]", () => TaskClr(n));
            }
            foreach(var n in Py.Range(8))
            {
                Event(0x100 + 4 * n, $"IN[{n}]");
            }
            Event(0x17C, "PORT");
            Registers(0x510, "CONFIG", 8, write: WriteConfig);
        }

        public bool Port = false;  // the level of DETECT
        public Gpio Gpio;

        private const long Channels = 8;
        private const long Config = 0x510;
        private const long ModeTask = 3, ModeEvent = 1;
        private const long Rising = 1, Falling = 2, Toggle = 3;
        private const long Out = 0x004;
    }

    // Interprocessor communication; the other processor is not modelled (nRF9160 PS, "IPC").
    public partial class Ipc : Device
    {
        public Ipc(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Registers(0x000, "TASKS_SEND", 8, access: "w");
            Registers(0x080, "SUBSCRIBE_SEND", 8);
            Registers(0x100, "EVENTS_RECEIVE", 8);
            Registers(0x180, "PUBLISH_RECEIVE", 8);
            Register(0x300, "INTEN");
            Register(0x304, "INTENSET");
            Register(0x308, "INTENCLR");
            Register(0x30C, "INTPEND", access: "r");
            Registers(0x510, "SEND_CNF", 8);
            Registers(0x590, "RECEIVE_CNF", 8);
            Registers(0x610, "GPMEM", 4);
        }
    }

    // IPC with 16 channels; a signal to the network core is reported as an approximation.
    public partial class LargeIpc : Ipc
    {
        public LargeIpc(Chip chip, string block) : base(chip, block)
        {
        }

        public void WriteTasksSend(long index, long value)
        {
            if((value & 1) != 0)
            {
                var text = $"IPC.TASKS_SEND[{index}] was triggered: the network core does not run";
                Chip.Report("approximation", "IPC", text);
            }
        }

        protected override void Declare()
        {
            Registers(0x000, "TASKS_SEND", 16, access: "w", write: WriteTasksSend);
            Registers(0x080, "SUBSCRIBE_SEND", 16);
            Registers(0x100, "EVENTS_RECEIVE", 16);
            Registers(0x180, "PUBLISH_RECEIVE", 16);
            Register(0x300, "INTEN");
            Register(0x304, "INTENSET");
            Register(0x308, "INTENCLR");
            Register(0x30C, "INTPEND", access: "r");
            Registers(0x510, "SEND_CNF", 16);
            Registers(0x590, "RECEIVE_CNF", 16);
            Registers(0x610, "GPMEM", 2);
        }
    }

    // An undocumented block with two words that SystemInit of Nordic's MDK accesses.
    public partial class LfrcCalibration : Device
    {
        public LfrcCalibration(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Register(0x420, "ERRATUM140_420", access: "r");
            Register(0x54C, "ERRATUM46_54C");
        }
    }

    // Sixteen mutexes: reading 0 locks a mutex, writing 0 unlocks it.
    public partial class Mutex : Device
    {
        public Mutex(Chip chip, string block) : base(chip, block)
        {
        }

        public long ReadMutex(long index)
        {
            long taken = Regs[FirstMutex + 4 * index];
            Regs[FirstMutex + 4 * index] = 1;
            return taken;
        }

        public void WriteMutex(long index, long value)
        {
            if((value & 1) == 0)
            {
                Regs[FirstMutex + 4 * index] = 0;
            }
        }

        protected override void Declare()
        {
            Registers(0x400, "MUTEX", 16, read: ReadMutex, write: WriteMutex);
        }

        private const long FirstMutex = 0x400;
    }

    // Writes words and erases pages, with the durations of the chip's table.
    public partial class Nvmc : Device
    {
        public Nvmc(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            base.Reset();
            // Ticks at which the current operation and the core's stall end.
            BusyUntil = 0;
            StalledUntil = 0;
        }

        // The mode in CONFIG or CONFIGNS: READ, WRITE, ERASE, PARTIAL_ERASE or a reserved value.
        public long ModeOf(bool nonsecure)
        {
            return nonsecure ? Regs[Configns] & 3 : Regs[NvmcConfig] & 7;
        }

        // Carries out a store of the processor to flash or UICR; False if it is a bus fault.
        public bool Store(Area area, long address, long size, long value, long old, long mode)
        {
            if(!(mode == WriteMode || mode == Erase || mode == PartialErase)
                || mode != WriteMode && area.Name != "flash")
            {
                return false;
            }
            if(size != 4 || (address & 3) != 0)
            {
                Misused(address, $"a store of {8 * size} bits; only aligned words can be written");
                return false;
            }
            if(mode == WriteMode)
            {
                WriteWord(address, value, old);
            }
            else if(value != Ones || Py.Mod(address, Page) != 0)
            {
                Misused(address,
                    $"a store of 0x{value:x} erases nothing; a page is erased by 0xffffffff to its first " +
                    "word");
                StoreLater(address, Py.ToBytes(old, 4));
            }
            else if(mode == Erase)
            {
                ErasePage(address, Chip.MemoryMap.Flash.ErasePageUs);
            }
            else
            {
                ErasePage(address, 1000 * (Regs[Duration] & 0x7F));
            }
            return true;
        }

        protected long Page => Chip.MemoryMap.Flash.Page;

        protected void Misused(long address, string message)
        {
            Chip.Report("flash_misuse", $"0x{address:x8}", $"flash at 0x{address:x8}: {message}");
        }

        protected void WriteWord(long address, long value, long old)
        {
            var flash = Chip.MemoryMap.Flash;
            long result = old & value;
            if(Py.Range(0, 32, 8)
                .Any(n => !((value >> (int)n & 0xFF) == 0xFF
                || (value >> (int)n & 0xFF) == (result >> (int)n & 0xFF))))
            {
                Chip.Report("flash_overwritten", $"0x{address:x8}",
                    $"flash at 0x{address:x8} held 0x{old:x}, 0x{value:x} was written, and it holds " +
                    $"0x{result:x}: a write only clears bits, an erase sets them");
            }
            if(value != Ones)  // ones program no bits, and do not count as a write
            {
                long count = Py.Get(Writes, address, Py.Int(old != Ones)) + 1;
                Writes[address] = count;
                if(count > flash.WritesPerWord)
                {
                    Misused(address,
                        $"written {count} times without an erase: a word takes {flash.WritesPerWord} " +
                        "writes (nWRITE)");
                }
            }
            StoreLater(address, Py.ToBytes(result, 4));
            StartOperation(flash.WriteUs);
        }

        // Erases a page once the durations of its partial erases add up to a whole erase.
        protected void ErasePage(long page, long microseconds)
        {
            var flash = Chip.MemoryMap.Flash;
            long done = Py.Pop(Partial, page, 0) + microseconds;
            StartOperation(microseconds);
            if(Py.Div(done, 1000) < Py.Div(flash.ErasePageUs, 1000))
            {
                Partial[page] = done;
                long first = Chip.FlashWord(page);
                StoreLater(page, Py.ToBytes(first, 4));
                return;
            }
            for(long address = page; address < page + flash.Page; address += 4)
            {
                Writes.Remove(address);
            }
            StoreLater(page, Py.Repeat(new byte[] { 0xff }, flash.Page));
        }

        // Erases flash and UICR (nRF5340 PS, "Erase all").
        public void WriteEraseall(long value)
        {
            if((value & 1) == 0)
            {
                return;
            }
            if(ModeOf(nonsecure: false) != Erase)
            {
                Chip.Report("flash_misuse", "NVMC.ERASEALL",
                    "NVMC.ERASEALL erases nothing: CONFIG does not enable it");
                return;
            }
            Writes.Clear();
            Partial.Clear();
            foreach(var name in new string[] { "flash", "uicr" })
            {
                var area = Chip.MemoryMap.Area(name);
                StoreLater(area.Origin, Py.Repeat(new byte[] { 0xff }, area.Size));
            }
            StartOperation(Chip.MemoryMap.Flash.EraseAllUs);
        }

        protected void StoreLater(long address, byte[] data)
        {
            PendingStores.Add((address, data));
            Chip.Stop();
        }

        // Sets the controller busy; an operation starts when the one before it has ended.
        protected void StartOperation(long microseconds)
        {
            long begin = Math.Max(Chip.Now, BusyUntil);
            BusyUntil = begin + Py.Div(microseconds * Chip.MemoryMap.CpuHz, 1_000_000);
            var inFlash = Chip.MemoryMap.Area("flash").Holds(Chip.Pc);
            StalledUntil = inFlash ? BusyUntil : begin;
            Regs[Ready] = 0;
            Regs[Readynext] = 0;
            Chip.Schedule(Name, "ready", BusyUntil);
        }

        public override void Fire(string tag)
        {
            Regs[Ready] = 1;
            Regs[Readynext] = 1;
        }

        protected override void Declare()
        {
            Register(0x400, "READY", reset: 1, access: "r");
            Register(0x408, "READYNEXT", reset: 1, access: "r");
            Register(0x500, "KMU_SELECTKEYSLOT");
            Register(0x504, "CONFIG");
            Register(0x50C, "ERASEALL", access: "w", write: WriteEraseall);
            Register(0x51C, "ERASEPAGEPARTIALCFG", reset: 0xA);
            Register(0x540, "ICACHECNF");
            Register(0x548, "IHIT");
            Register(0x54C, "IMISS");
            Register(0x584, "CONFIGNS");
            Register(0x588, "WRITEUICRNS", access: "w");
        }

        // Number of writes since the last erase, by address of the word. Kept over a reset.
        public Dictionary<long, long> Writes = new Dictionary<long, long>();
        // Duration of the partial erases so far in microseconds, by address of the page.
        public Dictionary<long, long> Partial = new Dictionary<long, long>();
        // Address and content of memory to store after the current instruction.
        public List<(long, byte[])> PendingStores = new List<(long, byte[])>();
        public long BusyUntil;
        public long StalledUntil;

        private const long Configns = 0x584, Duration = 0x51C, Ready = 0x400, Readynext = 0x408;
        private const long Ones = 0xFFFF_FFFF;
        // Registers of NVMC by offset.
        private const long NvmcConfig = 0x504;
        // Values of NVMC's CONFIG.
        private const long WriteMode = 1, Erase = 2, PartialErase = 4;
    }

    // NVMC, with two registers of the workaround of erratum 160 and one of that of erratum 42.
    public partial class Erratum160Nvmc : Nvmc
    {
        public Erratum160Nvmc(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            base.Declare();
            Register(0x530, "ERRATUM42_530");
            Register(0xE04, "ERRATUM160_E04");
            Register(0xE08, "ERRATUM160_E08");
        }
    }

    // NVMC with the APPROTECT registers of the nRF9120, as storage (nrf9120.svd, Nordic's MDK).
    public partial class ProtectedNvmc : Nvmc
    {
        public ProtectedNvmc(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            base.Declare();
            Register(0xE00, "SECUREAPPROTECT_DISABLE", reset: 1);
            Register(0xE10, "APPROTECT_DISABLE", reset: 1);
        }
    }

    // SYSTEMOFF and DCDCEN (nRF9160 PS, "REGULATORS").
    public partial class Regulators : Device
    {
        public Regulators(Chip chip, string block) : base(chip, block)
        {
        }

        public void WriteSystemoff(long value)
        {
            if((value & 1) != 0)
            {
                Chip.SystemOff();
            }
        }

        protected override void Declare()
        {
            Register(0x500, "SYSTEMOFF", access: "w", write: WriteSystemoff);
            Register(0x510, "EXTPOFCON");
            Register(0x578, "DCDCEN");
            Register(0x70C, "ERRATUM31_70C");
            Register(0x710, "ERRATUM31_710");
        }
    }

    // REGULATORS and OSCILLATORS, which share one block.
    public partial class RegulatorsAndOscillators : Regulators
    {
        public RegulatorsAndOscillators(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Register(0x428, "MAINREGSTATUS", access: "r");
            Register(0x500, "SYSTEMOFF", access: "w", write: WriteSystemoff);
            Register(0x510, "POFCON");
            Register(0x5C4, "XOSC32MCAPS");
            Register(0x6C0, "XOSC32KI_BYPASS");
            Register(0x6D0, "XOSC32KI_INTCAP");
            Register(0x704, "VREGMAIN_DCDCEN");
            Register(0x70C, "ERRATUM160_70C");
            Register(0x73C, "ERRATUM64_73C");
            Register(0x904, "VREGRADIO_DCDCEN");
            Register(0x91C, "ERRATUM97_91C");
            Register(0x93C, "ERRATUM160_93C");
            Register(0xA20, "ERRATUM97_A20");
            Register(0xB00, "VREGH_DCDCEN");
            Register(0xB40, "VREGH_EXTSILENTEN", reset: 1);
        }
    }

    // A counter that can be started, stopped and cleared, with compare registers.
    public abstract partial class Counter : Nordic
    {
        protected Counter(Chip chip, string block) : base(chip, block)
        {
        }

        // The value of the counter without wrapping.
        protected abstract long Total();

        // Sets the counter to value now, and reschedules its events.
        protected abstract void Rebase(long value);

        public override void Reset()
        {
            base.Reset();
            Running = false;
            Base = 0;
            Captured = 0;  // a bit for each channel: CAPTURE has set its CC
        }

        public virtual void TaskStart()
        {
            if(!Running)
            {
                long value = Base;
                Running = true;
                Rebase(value);
            }
        }

        public virtual void TaskStop()
        {
            long value = Total();
            Running = false;
            Rebase(value);
        }

        public void TaskClear()
        {
            Rebase(0);
        }

        // The tick at which the counter reaches CC of a channel, if it goes on.
        public abstract long Due(long channel);

        public virtual bool Running { get; set; }
        public virtual long Base { get; set; }
        public long Captured;
    }

    // A 24-bit counter computed from the virtual time.
    public partial class Rtc : Counter
    {
        public Rtc(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            var clocks = Chip.MemoryMap;
            Regs.Edges = clocks.LfclkHz;
            Regs.Ticks = clocks.CpuHz;
            Regs.Soonest = MinAhead;
            base.Reset();
            Regs.Schedule = new byte[0];
            Edge = 0;
            // True between START and STOP; :attr:`running` requires LFCLK as well.
            Started = false;
            // Address of the code that started the RTC without LFCLK, or stopped LFCLK under it.
            BlamedPc = 0;
            // By channel: the missed count, and COUNTER and pc when CC was written.
            Missed = new Dictionary<long, (long, long, long)>();
        }

        public override void Connect(IDictionary<string, Device> devices)
        {
            var clock = (Clock)devices["CLOCK"];
            Clock = clock;
            clock.OnLfclk(FollowClock);
        }

        // True while the counter counts.
        public override bool Running
        {
            get => Regs.Running;
            set => Regs.Running = value;
        }

        // The value of the counter at edge.
        public override long Base
        {
            get => Regs.Base;
            set => Regs.Base = value;
        }

        // The number of the LFCLK edge at which the counter was base.
        public long Edge
        {
            get => Regs.Since;
            set => Regs.Since = value;
        }

        public override void TaskStart()
        {
            if(Started)
            {
                return;
            }
            Started = true;
            if(Clock.LfclkRuns)
            {
                base.TaskStart();
            }
            else
            {
                CheckClockLater();
            }
        }

        public override void TaskStop()
        {
            Started = false;
            Chip.Cancel(Name, ClockCheck);
            base.TaskStop();
        }

        protected void FollowClock(bool runs)
        {
            if(!Started)
            {
                return;
            }
            if(runs)
            {
                Chip.Cancel(Name, ClockCheck);
                base.TaskStart();
            }
            else
            {
                base.TaskStop();
                if((Regs[Evten] | Regs[Inten]) != 0)
                {
                    CheckClockLater();
                }
            }
        }

        // Schedules a check that LFCLK runs; Zephyr starts it a few instructions after START.
        protected void CheckClockLater()
        {
            BlamedPc = Chip.Pc;
            Chip.Schedule(Name, ClockCheck, TickOf(EdgeNow() + RepairEdges));
        }

        // Reports an RTC that was started without LFCLK.
        protected void ReportClock()
        {
            if(Clock.Regs[Lfclkrun] == 0)
            {
                Chip.Report("clock_not_running", Name,
                    $"{Name} was started but does not count, because LFCLK does not run: " +
                    "CLOCK.TASKS_LFCLKSTART was not triggered", BlamedPc);
            }
        }

        protected long EdgeNow()
        {
            var clocks = Chip.MemoryMap;
            return Py.Div(Chip.Now * clocks.LfclkHz, clocks.CpuHz);
        }

        protected long TickOf(long edge)
        {
            var clocks = Chip.MemoryMap;
            return -Py.Div(-edge * clocks.CpuHz, clocks.LfclkHz);
        }

        protected long Step => (Regs[Prescaler] & 0xFFF) + 1;

        protected override long Total()
        {
            return Regs.Count(Chip.Now);
        }

        protected override void Rebase(long value)
        {
            Base = Py.Mod(value, Wrap);
            Edge = EdgeNow();
            foreach(var index in Missed.Keys.ToArray())
            {
                CancelMiss(index);
            }
            Regs.Arrange(Chip.Now);
            Chip.StopBy(Regs.Due);
        }

        public long ReadCounter()
        {
            return Py.Mod(Total(), Wrap);
        }

        public void TaskTrigovrflw()
        {
            Rebase(0xFFFFF0);
        }

        // Writes PRESCALER; ignored while the counter is started, as on the chip.
        public void WritePrescaler(long value)
        {
            if(!Started)
            {
                Regs[Prescaler] = value & 0xFFF;
            }
        }

        public void WriteCc(long index, long value)
        {
            if(Missed.ContainsKey(index))
            {
                CancelMiss(index);
            }
            if(Running)
            {
                long total = Total();
                long ahead = Py.Mod(value - total, Wrap);
                if(ahead < MinAhead)
                {
                    Missed[index] = (total + ahead, Py.Mod(total, Wrap), Chip.Pc);
                    Regs.Skip(index, total + ahead);
                    long edge = EdgeOf(total, ahead + 1) + RepairEdges;
                    Chip.Schedule(Name, MissTags[(int)index], TickOf(edge));
                }
            }
            Set(Ccs[(int)index], value);
        }

        // Writes a register on which the times of events depend.
        protected void Set(long offset, long value)
        {
            Regs.SetRtc(offset, value, Chip.Now);
            UpdateLine();
            Chip.StopBy(Regs.Due);
        }

        protected void CancelMiss(long index)
        {
            ClearMiss(index);
            Chip.Cancel(Name, MissTags[(int)index]);
        }

        protected void ClearMiss(long index)
        {
            Missed.Remove(index);
            Regs.Skip(index, -1);
        }

        // Reports a missed compare value that firmware neither changed nor disabled.
        protected void ReportMiss(long index)
        {
            var (_, counter, pc) = Missed[index];
            if((EnabledEvents() & Compare << (int)index) != 0)
            {
                long value = Regs[Ccs[(int)index]];
                Chip.Report("rtc_compare_too_close", $"{Name}.CC[{index}]",
                    $"{Name}.CC[{index}] was set to 0x{value:x} while COUNTER was 0x{counter:x}: less than " +
                    $"{MinAhead} ahead, so COMPARE may occur a whole turn later", pc);
            }
        }

        protected long EnabledEvents()
        {
            return Regs[Evten] | Regs[Inten];
        }

        public void WriteEvten(long value)
        {
            Set(Evten, value);
        }

        public void WriteEvtenset(long value)
        {
            Set(Evtenset, value);
        }

        public void WriteEvtenclr(long value)
        {
            Set(Evtenclr, value);
        }

        protected override void WriteInten(long value)
        {
            Set(Inten, value);
        }

        // Raises the events that are due.
        public void Settle()
        {
            long offset;
            while((offset = Regs.TakeDue(Chip.Now)) != 0)
            {
                Event(EventOf[offset]);
            }
        }

        // The edge of LFCLK at which the counter, now total, reaches total + ahead.
        protected long EdgeOf(long total, long ahead)
        {
            return Edge + (total - Base + ahead) * Step;
        }

        public override long Due(long channel)
        {
            long total = Total();
            long ahead = Py.Or(Py.Mod(Regs[Ccs[(int)channel]] - total, Wrap), Wrap);
            return TickOf(EdgeOf(total, ahead));
        }

        public override void Fire(string tag)
        {
            if(tag == ClockCheck)
            {
                ReportClock();
            }
            else if(MissTags.Contains(tag))
            {
                long index = Array.IndexOf(MissTags, tag);
                ReportMiss(index);
                ClearMiss(index);
            }
            else
            {
                base.Fire(tag);
            }
        }

        public override bool Awaits(string tag) => tag == "no clock" || tag == "missed 0" || tag == "missed 1"
            || tag == "missed 2" || tag == "missed 3";

        protected override void Declare()
        {
            Task(0x000, "START", TaskStart);
            Task(0x004, "STOP", TaskStop);
            Task(0x008, "CLEAR", TaskClear);
            Task(0x00C, "TRIGOVRFLW", TaskTrigovrflw);
            Event(0x100, "TICK");
            Event(0x104, "OVRFLW");
            foreach(var n in Py.Range(4))
            {
                Event(0x140 + 4 * n, $"COMPARE[{n}]");
            }
            Register(0x340, "EVTEN", write: WriteEvten);
            Register(0x344, "EVTENSET", write: WriteEvtenset);
            Register(0x348, "EVTENCLR", write: WriteEvtenclr);
            Register(0x504, "COUNTER", access: "r", read: ReadCounter);
            Register(0x508, "PRESCALER", write: WritePrescaler);
            Registers(0x540, "CC", 4, write: WriteCc);
        }

        public bool Started;
        public long BlamedPc;
        public Dictionary<long, (long, long, long)> Missed;
        protected Clock Clock;

        private const long Wrap = 0x1000000;
        private const long Evten = 0x340, Evtenset = 0x344, Evtenclr = 0x348;
        private const long Prescaler = 0x508;
        private static readonly long[] Ccs = new long[] { 0x540, 0x544, 0x548, 0x54C };
        private const long Compare = 0x10000;  // bit of COMPARE[0] in EVTEN and INTEN
        private static readonly string[] MissTags = new string[] { "missed 0", "missed 1", "missed 2",
            "missed 3" };
        private const string ClockCheck = "no clock";
        // Smallest distance of CC from COUNTER, in counts, at which COMPARE is certain.
        private const long MinAhead = 2;
        // Edges of LFCLK (2 ms) within which firmware must correct a missed compare value, or start LFCLK.
        // Drivers that read COUNTER after writing CC, such as Zephyr's, need microseconds.
        private const long RepairEdges = 64;
        private static readonly Dictionary<long, string> EventOf = new Dictionary<long, string> {
            [0x100] = "TICK", [0x104] = "OVRFLW", [0x140] = "COMPARE[0]", [0x144] = "COMPARE[1]",
            [0x148] = "COMPARE[2]", [0x14C] = "COMPARE[3]" };
        private const long Lfclkrun = 0x414;
    }

    // Permissions with their locks, and an event for each kind of refused access.
    public partial class Spu : Nordic
    {
        public Spu(Chip chip, string block) : base(chip, block)
        {
        }

        // The chip's DPPI channels, one bit each.
        protected long EveryChannel => (1L << (int)Chip.MemoryMap.DppiChannels) - 1;

        public override void Reset()
        {
            base.Reset();
            Regs[DppiPerm] = EveryChannel;
            foreach(var block in Chip.MemoryMap.Blocks)
            {
                Regs[Periphid + 4 * block.Number] = FirstPermission(block, Chip.MemoryMap.SecureWindow);
            }
        }

        protected void Lockable(long offset, long value, long writable)
        {
            long now = Regs[offset];
            if((now & Lock) == 0)
            {
                Regs[offset] = now & ~writable | value & writable;
                Chip.SecurityChanged();
            }
        }

        public void WriteFlashregionPerm(long index, long value)
        {
            Lockable(Perm["flash"] + 4 * index, value, 0x117);
        }

        public void WriteRamregionPerm(long index, long value)
        {
            Lockable(Perm["ram"] + 4 * index, value, 0x117);
        }

        // Writable bits of FLASHNSC.REGION and RAMNSC.REGION: LOCK and the number of a region.
        protected long RegionMask => 0x100 | Chip.MemoryMap.SpuRegions("flash") - 1;

        public void WriteFlashnsc(long index, long value)
        {
            Lockable(Nsc["flash"] + 4 * index, value, (index & 1) != 0 ? 0x10F : RegionMask);
        }

        public void WriteRamnsc(long index, long value)
        {
            Lockable(Nsc["ram"] + 4 * index, value, (index & 1) != 0 ? 0x10F : RegionMask);
        }

        public void WriteExtdomainPerm(long value)
        {
            Lockable(ExtdomainPerm, value, 0x110);
        }

        public void WritePeriphidPerm(long index, long value)
        {
            long offset = Periphid + 4 * index;
            long now = Regs[offset];
            var selectable = (now & 3) == Selectable || (now & 3) == Split;
            var separate = (now & 0xC) == SeparateDma;
            Lockable(offset, value, Py.Int(selectable) * Secattr | Py.Int(separate) * Dmasec | Lock);
        }

        public void WriteDppiPerm(long value)
        {
            if(Regs[DppiLock] == 0)
            {
                Regs[DppiPerm] = value & EveryChannel;
            }
        }

        public void WriteDppiLock(long value)
        {
            Regs[DppiLock] |= value & 1;
        }

        public void WriteGpioportPerm(long value)
        {
            if(Regs[GpioLock] == 0)
            {
                Regs[GpioPerm] = value & 0xFFFF_FFFF;
            }
        }

        public void WriteGpioportLock(long value)
        {
            Regs[GpioLock] |= value & 1;
        }

        // PERM without LOCK of each region of flash, then of RAM; one byte each.
        public byte[] Permissions
        {
            get
            {
                var found = new List<byte>();
                foreach(var (name, offset) in Perm)
                {
                    for(long n = 0; n < Chip.MemoryMap.SpuRegions(name); n++)
                    {
                        found.Add((byte)(Regs[offset + 4 * n] & 0x17));
                    }
                }
                return found.ToArray();
            }
        }

        // Non-secure callable address ranges (begin, end), each at the end of a region.
        public List<(long, long)> Gateways
        {
            get
            {
                var found = new List<(long, long)>();
                foreach(var (name, offset) in Nsc)
                {
                    var area = Chip.MemoryMap.Area(name);
                    long count = Chip.MemoryMap.SpuRegions(name);
                    for(long n = 0; n < 2; n++)
                    {
                        long region = Regs[offset + 8 * n];
                        long size = Regs[offset + 8 * n + 4];
                        if(1 <= (size & 0xF) && (size & 0xF) <= 8)
                        {
                            long end = area.Origin + (Py.Mod(region, count) + 1) * Py.Div(area.Size, count);
                            found.Add((end - (16L << (int)(size & 0xF)), end));
                        }
                    }
                }
                return found;
            }
        }

        // True, after raising PERIPHACCERR, if a peripheral is not accessible at this alias.
        public bool Refuses(Block block, long address)
        {
            if(block.Bases.Length < 2)
            {
                return false;
            }
            var aliasSecure = address >= Chip.MemoryMap.SecureWindow;
            var secure = IsSecure(block.Number);
            var split = (Regs[Periphid + 4 * block.Number] & 3) == Split;
            if(aliasSecure == secure || aliasSecure && split)
            {
                return false;
            }
            Event("PERIPHACCERR");
            return true;
        }

        // True if any peripheral that can be secure is non-secure.
        public bool HasNonsecurePeripherals
        {
            get
            {
                var words = Chip.MemoryMap.Blocks.Select(one => Regs[Periphid + 4 * one.Number]);
                return words.Any(word => ((word & 3) == Selectable || (word & 3) == Split)
                    && (word & Secattr) == 0);
            }
        }

        // SECATTR of a peripheral, by its id.
        public bool IsSecure(long peripheral)
        {
            return (Regs[Periphid + 4 * peripheral] & Secattr) != 0;
        }

        // True unless the peripheral is non-secure and the DPPI channel is secure.
        public bool AllowsChannel(long peripheral, long channel)
        {
            return IsSecure(peripheral) || (NonsecureChannels >> (int)channel & 1) != 0;
        }

        // DMASEC of a peripheral, by its id.
        public bool HasSecureDma(long peripheral)
        {
            return (Regs[Periphid + 4 * peripheral] & Dmasec) != 0;
        }

        // The pins of P0 that are non-secure, one bit each.
        public long NonsecurePins => ~Regs[GpioPerm] & 0xFFFF_FFFF;

        // The DPPI channels that are non-secure, one bit each.
        public long NonsecureChannels => ~Regs[DppiPerm] & EveryChannel;

        // Raises the event of a refused access to flash (area = 0) or RAM.
        public void Violation(long area)
        {
            Event(area != 0 ? "RAMACCERR" : "FLASHACCERR");
        }

        protected override void Declare()
        {
            Event(0x100, "RAMACCERR");
            Event(0x104, "FLASHACCERR");
            Event(0x108, "PERIPHACCERR");
            Register(0x400, "CAP", reset: 1, access: "r");
            Register(0x440, "EXTDOMAIN_PERM", reset: 2, write: WriteExtdomainPerm);
            Register(0x480, "DPPI_PERM", write: WriteDppiPerm);
            Register(0x484, "DPPI_LOCK", write: WriteDppiLock);
            Register(0x4C0, "GPIOPORT_PERM", reset: 0xFFFFFFFF, write: WriteGpioportPerm);
            Register(0x4C4, "GPIOPORT_LOCK", write: WriteGpioportLock);
            Registers(0x500, "FLASHNSC", 4, write: WriteFlashnsc);
            Registers(0x540, "RAMNSC", 4, write: WriteRamnsc);
            Registers(0x600, "FLASHREGION_PERM", 32, reset: 0x17, write: WriteFlashregionPerm);
            Registers(0x700, "RAMREGION_PERM", 32, reset: 0x17, write: WriteRamregionPerm);
            Registers(0x800, "PERIPHID_PERM", 67, reset: 0x12, write: WritePeriphidPerm);
        }

        // The reset value of PERIPHID[n].PERM: peripherals and their DMA are secure if they can be.
        private static long FirstPermission(Block block, long secureWindow)
        {
            long mapping = block.Split ? Split : Selectable;
            if(block.Bases.Length == 1)
            {
                mapping = block.Addresses[0] >= secureWindow ? Secure : NonSecure;
            }
            long dma = block.Dma ? SeparateDma | Dmasec : 0;
            return Present | mapping | dma | (mapping == NonSecure ? 0 : Secattr);
        }

        private const long ExtdomainPerm = 0x440;
        private const long DppiPerm = 0x480, DppiLock = 0x484, GpioLock = 0x4C4, GpioPerm = 0x4C0;
        private static readonly Dictionary<string, long> Nsc = new Dictionary<string, long> {
            ["flash"] = 0x500, ["ram"] = 0x540 };
        private static readonly Dictionary<string, long> Perm = new Dictionary<string, long> {
            ["flash"] = 0x600, ["ram"] = 0x700 };
        private const long Periphid = 0x800;
        private const long Lock = 0x100, Secattr = 0x10, Dmasec = 0x20, Present = 0x80000000;
        // SECUREMAPPING and DMA of PERIPHID.PERM.
        private const long Selectable = 2, Split = 3, Secure = 1, NonSecure = 0;
        private const long SeparateDma = 8;
    }

    // The SPU of the nRF5340, with more regions and ids, and two ports.
    public partial class LargeSpu : Spu
    {
        public LargeSpu(Chip chip, string block) : base(chip, block)
        {
        }

        public void WriteGpioport1Perm(long value)
        {
            if(Regs[GpioLock + 8] == 0)
            {
                Regs[GpioPerm + 8] = value & 0xFFFF;
            }
        }

        protected override void Declare()
        {
            Event(0x100, "RAMACCERR");
            Event(0x104, "FLASHACCERR");
            Event(0x108, "PERIPHACCERR");
            Register(0x400, "CAP", reset: 1, access: "r");
            Register(0x440, "EXTDOMAIN_PERM", reset: 2, write: WriteExtdomainPerm);
            Register(0x480, "DPPI_PERM", write: WriteDppiPerm);
            Register(0x484, "DPPI_LOCK", write: WriteDppiLock);
            Register(0x4C0, "GPIOPORT_PERM", reset: 0xFFFFFFFF, write: WriteGpioportPerm);
            Register(0x4C4, "GPIOPORT_LOCK", write: WriteGpioportLock);
            Registers(0x500, "FLASHNSC", 4, write: WriteFlashnsc);
            Registers(0x540, "RAMNSC", 4, write: WriteRamnsc);
            Registers(0x600, "FLASHREGION_PERM", 64, reset: 0x17, write: WriteFlashregionPerm);
            Registers(0x700, "RAMREGION_PERM", 64, reset: 0x17, write: WriteRamregionPerm);
            Registers(0x800, "PERIPHID_PERM", 256, reset: 0x12, write: WritePeriphidPerm);
            Register(0x4C8, "GPIOPORT1_PERM", reset: 0xFFFF, write: WriteGpioport1Perm);
            Register(0x4CC, "GPIOPORT1_LOCK");
        }

        private const long GpioLock = 0x4C4, GpioPerm = 0x4C0;
    }

    // A peripheral without a model: it can be configured, but executes no task.
    public partial class Storage : Nordic
    {
        public Storage(Chip chip, string block) : base(chip, block)
        {
        }

        public void TaskTask(long index)
        {
            var name = Block.Task(4 * index);
            if(!name.EndsWith("STOP", StringComparison.Ordinal))  // stopping what never started has no effect
            {
                Chip.Report("unmodelled_task", name, Texts.UnmodelledTask(name));
            }
        }

        protected override void WriteInten(long value)
        {
            base.WriteInten(value);
            if(value != 0)
            {
                var subject = $"{Name}.INTEN";
                var message = $"{Name} has no model, and its interrupt was enabled";
                Chip.Report("unmodelled_task", subject, message);
            }
        }

        protected override void Declare()
        {
            foreach(var n in Py.Range(32))
            {
                Task(0x000 + 4 * n, $"TASK[{n}]", () => TaskTask(n));
            }
        }
    }

    // Counts at 16 MHz / 2 ** PRESCALER, or COUNT tasks in counter mode.
    public partial class Timer : Counter
    {
        public Timer(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            base.Reset();
            Since = 0;  // tick at which the counter was ``base``
        }

        protected long Modulus => 1L << (int)Widths[Regs[Bitmode] & 3];

        protected long TicksPerCount
        {
            get
            {
                var clocks = Chip.MemoryMap;
                return Py.Div(clocks.CpuHz, clocks.TimerHz) << (int)Math.Min(Regs[Prescaler] & 0xF, 9);
            }
        }

        protected bool Timing => Running && (Regs[Mode] & 3) == TimerMode;

        protected override long Total()
        {
            if(!Timing)
            {
                return Base;
            }
            return Base + Py.Div(Chip.Now - Since, TicksPerCount);
        }

        protected override void Rebase(long value)
        {
            Base = Py.Mod(value, Modulus);
            Since = Chip.Now;
            for(long index = 0; index < Channels; index++)
            {
                ScheduleCompare(index);
            }
        }

        protected void ScheduleCompare(long index)
        {
            var name = $"COMPARE[{index}]";
            if(Timing)
            {
                Chip.Schedule(Name, name, Due(index));
            }
            else
            {
                Chip.Cancel(Name, name);
            }
        }

        public override long Due(long channel)
        {
            long total = Total();
            long ahead = Py.Or(Py.Mod(Regs[Cc + 4 * channel] - total, Modulus), Modulus);
            return Since + (total - Base + ahead) * TicksPerCount;
        }

        public void TaskShutdown()
        {
            Running = false;
            Rebase(0);
        }

        public void TaskCount()
        {
            if(!Running || (Regs[Mode] & 3) == TimerMode)
            {
                return;
            }
            Base = Py.Mod(Base + 1, Modulus);
            for(long index = 0; index < Channels; index++)
            {
                if(Base == Py.Mod(Regs[Cc + 4 * index], Modulus))
                {
                    Event($"COMPARE[{index}]");
                }
            }
        }

        public void TaskCapture(long index)
        {
            Captured |= 1L << (int)index;
            WriteCc(index, Py.Mod(Total(), Modulus));
        }

        public void WriteCc(long index, long value)
        {
            Regs[Cc + 4 * index] = value;
            ScheduleCompare(index);
        }

        public void WriteMode(long value)
        {
            long current = Total();
            Regs[Mode] = value;
            Rebase(current);
        }

        public void WriteBitmode(long value)
        {
            long current = Total();
            Regs[Bitmode] = value;
            Rebase(current);
        }

        public void WritePrescaler(long value)
        {
            long current = Total();
            Regs[Prescaler] = value;
            Rebase(current);
        }

        // Raises COMPARE of all channels with this count, before a shortcut changes the counter.
        public override void Fire(string tag)
        {
            var counts = Py.Range(Channels).Select(n => Py.Mod(Regs[Cc + 4 * n], Modulus)).ToList();
            long count = counts[(int)Py.Int(Py.Slice(tag, 8, -1))];
            var matched = Py.Range(Channels).Where(n => counts[(int)n] == count).ToList();
            foreach(var index in matched)
            {
                ScheduleCompare(index);
            }
            foreach(var index in matched)
            {
                Event($"COMPARE[{index}]");
            }
        }

        protected override void Declare()
        {
            Task(0x000, "START", TaskStart);
            Task(0x004, "STOP", TaskStop);
            Task(0x008, "COUNT", TaskCount);
            Task(0x00C, "CLEAR", TaskClear);
            Task(0x010, "SHUTDOWN", TaskShutdown);
            foreach(var n in Py.Range(6))
            {
                Task(0x040 + 4 * n, $"CAPTURE[{n}]", () => TaskCapture(n));
            }
            foreach(var n in Py.Range(6))
            {
                Event(0x140 + 4 * n, $"COMPARE[{n}]");
            }
            Short(0, "COMPARE[0]", "CLEAR");
            Short(1, "COMPARE[1]", "CLEAR");
            Short(2, "COMPARE[2]", "CLEAR");
            Short(3, "COMPARE[3]", "CLEAR");
            Short(4, "COMPARE[4]", "CLEAR");
            Short(5, "COMPARE[5]", "CLEAR");
            Short(8, "COMPARE[0]", "STOP");
            Short(9, "COMPARE[1]", "STOP");
            Short(10, "COMPARE[2]", "STOP");
            Short(11, "COMPARE[3]", "STOP");
            Short(12, "COMPARE[4]", "STOP");
            Short(13, "COMPARE[5]", "STOP");
            Register(0x504, "MODE", write: WriteMode);
            Register(0x508, "BITMODE", write: WriteBitmode);
            Register(0x510, "PRESCALER", reset: 4, write: WritePrescaler);
            Registers(0x540, "CC", 6, write: WriteCc);
        }

        public long Since;

        private const long Channels = 6;
        private const long Bitmode = 0x508, Prescaler = 0x510, Mode = 0x504;
        // bits, by BITMODE
        private static readonly Dictionary<long, long> Widths = new Dictionary<long, long> { [0] = 0x10,
            [1] = 8, [2] = 0x18, [3] = 0x20 };
        private const long TimerMode = 0;
        private const long Cc = 0x540;
    }

    // A serial port; sink gets the sent bytes, wiring is that of a board's console.
    public partial class Uarte : Nordic
    {
        public Uarte(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            if(Regs.Transfer.Length != 0)
            {
                Regs.StopSending(true);
                Deliver();  // with the wiring before the reset
            }
            base.Reset();
            Receiving = false;
            Due = 0;  // number of bytes that arrive together next
            Since = 0;  // tick of the start bit of the first of them
            WaitsSince = Chip.Now;  // tick since which the next byte could have been sent
            Begun = false;  // part of what the host sends has been received
            Pointer = 0;
            Room = 0;
            Received = 0;  // address, free and filled bytes of the buffer
            Rewire();
        }

        // Bits per second (nRF9160 PS, "BAUDRATE").
        public long Baud => Math.Max(1, Regs[Baudrate] * Chip.MemoryMap.TimerHz >> 32);

        // Ticks that a byte takes on the wire.
        public long TicksPerByte
        {
            get
            {
                long config = Regs[Config];
                long bits = 10 + Py.Int((config & Parity) == Parity) + Py.Int((config & Stop) != 0);
                return Py.Div(Chip.MemoryMap.CpuHz * bits, Baud);
            }
        }

        // Calls sink with sent bytes: all, or those that a console with wiring receives.
        public void ConnectSink(Action<byte[]> sink, ConsoleWiring wiring = null)
        {
            Sink = sink;
            Wiring = wiring;
            Rewire();
        }

        protected void WriteWiring(long offset, long value)
        {
            if(Regs.Sending)
            {
                Deliver();  // the bytes sent before the change
            }
            Regs[offset] = value;
            Rewire();
        }

        public void WriteEnable(long value)
        {
            if(value != Enabled)
            {
                if(Regs.Sending)
                {
                    AbortSending($"ENABLE = {value}");
                }
                StopReceiving();
            }
            WriteWiring(Enable, value);
        }

        public void WritePselTxd(long value)
        {
            WriteWiring(PselTxd, value);
        }

        public void WriteBaudrate(long value)
        {
            WriteWiring(Baudrate, value);
        }

        public void WritePselCts(long value)
        {
            WriteWiring(PselCts, value);
        }

        public void WriteConfig(long value)
        {
            WriteWiring(Config, value);
        }

        // Sets in the core the duration of a byte, and whether the console receives it.
        protected void Rewire()
        {
            var ready = Regs[Enable] == Enabled && Blocked() == "";
            var received = Wiring != null && Mismatch("TXD", PselTxd) == "";
            Regs.SetSender(received, ready ? TicksPerByte : 0);
        }

        // The reason why the enabled UARTE sends no byte, "" if it sends.
        protected string Blocked()
        {
            var wiring = Wiring;
            long config = Regs[Config];
            long chosen = Regs[PselCts];
            if(wiring == null || (config & Hwfc) == 0 || (chosen & Disconnected) != 0)
            {
                return "";
            }
            if(wiring.FlowControl && (chosen & PinMask) == wiring.Pins.Cts)
            {
                return "";
            }
            return $"CONFIG is 0x{config:x2} (hardware flow control) and PSEL.CTS 0x{chosen:x8} " +
                $"({Pin(chosen)}), which {wiring.Board} does not drive: no byte is ever sent";
        }

        // The difference between the console's wiring and the settings of "TXD" or "RXD", or "".
        protected string Mismatch(string line, long select)
        {
            var wiring = Wiring;
            long? pin = line == "TXD" ? wiring.Pins.Txd : wiring.Pins.Rxd;
            long chosen = Regs[select];
            long config = Regs[Config];
            var listens = $"{wiring.Board} listens";
            if(line == "RXD")
            {
                listens = $"{wiring.Board} sends";
            }
            if((chosen & Disconnected) != 0 || (chosen & PinMask) != pin)
            {
                var where = pin != null ? $"on P0.{pin.Value:D2}" : "nowhere";
                return $"PSEL.{line} is 0x{chosen:x8} ({Pin(chosen)}); {listens} {where}";
            }
            if(Math.Abs((double)Baud / wiring.Baud - 1) > Tolerance)
            {
                long value = Regs[Baudrate];
                return $"BAUDRATE is 0x{value:x8} ({Baud} baud); {listens} at {wiring.Baud} baud";
            }
            foreach(var (bits, wanted, has, lacks) in new (long, bool, string, string)[] {
                (Parity, wiring.Parity, "a parity bit", "no parity bit"),
                (Stop, wiring.StopBits == 2, "two stop bits", "one stop bit") })
            {
                var setUp = (config & bits) == bits;
                if(setUp != wanted)
                {
                    var (here, there) = setUp ? (has, lacks) : (lacks, has);
                    return $"CONFIG is 0x{config:x2} ({here}); {listens} with {there}";
                }
            }
            return "";
        }

        public void TaskStarttx()
        {
            if(Regs[Enable] != Enabled)
            {
                Misused("STARTTX", $"ENABLE is {Regs[Enable]}: nothing is sent");
                return;
            }
            if(Regs.Sending)
            {
                AbortSending("STARTTX");
            }
            Event("TXSTARTED");
            long size = SizeOf("TXD", TxdMaxcnt);
            string held;
            if((held = Blocked()) != "")
            {
                Chip.Report("console_unheard", $"{Name}.CONFIG", $"{Name}: {held}");
            }
            else if(size != 0 && Chip.CanReach(Name, "read", Regs[TxdPtr], size))
            {
                Chip.Send(Regs);
            }
            else
            {
                Regs[TxdAmount] = 0;
                Event("ENDTX");
            }
        }

        // The size of a transfer in bytes, limited by MAXCNT's width (PS, "TXD.MAXCNT").
        protected long SizeOf(string line, long register)
        {
            long count = Regs[register];
            long bits = Chip.MemoryMap.EasydmaBits;
            long size = count & (1L << (int)bits) - 1;
            if(size != count)
            {
                Misused($"{line}.MAXCNT", $"0x{count:x} has more than {bits} bits: {size} bytes");
            }
            if(size > MaxBytes)
            {
                var subject = $"{Name}.{line}.MAXCNT";
                var message = $"{subject}: transfers of more than {MaxBytes} bytes are not modelled";
                Chip.Report("unmodelled_task", subject, message);
                size = MaxBytes;
            }
            return size;
        }

        // Aborts the current transfer, and reports the task that caused it.
        protected void AbortSending(string by)
        {
            long sent = Regs.Sent;
            long size = Regs.ToSend;
            Regs.StopSending(true);
            Deliver();
            Misused(by, $"during a transfer; {sent} of {size} bytes were sent");
        }

        protected void Misused(string by, string how)
        {
            Chip.Report("uart_misused", $"{Name}.{by}", $"{Name} {by}: {how}");
        }

        // Delivers the bytes that the core has sent, and raises the events due.
        public void Settle()
        {
            var regs = Regs;
            var ended = !Regs.Sending;
            var stopped = regs.Stopping;
            long changed = regs.Changed;
            if(ended && regs.Sent < regs.ToSend)
            {
                var how = $"STOPTX ended a transfer; {regs.Sent} of {regs.ToSend} bytes were sent";
                Chip.Report("transfer_stopped", Name, $"{Name}: {how}");
            }
            Deliver();
            Event("TXDRDY");
            if(!ended)
            {
                return;
            }
            if(changed < regs.ToSend)
            {
                Misused("TXD.PTR", $"byte {changed} of the buffer changed before it was sent");
            }
            Event("ENDTX");
            if(stopped)
            {
                Event("TXSTOPPED");
            }
        }

        protected void Deliver()
        {
            var data = Regs.TakeSent();
            if(data.Length == 0)
            {
                return;
            }
            var why = Wiring != null ? Mismatch("TXD", PselTxd) : "";
            if(why != "")
            {
                Chip.Report("console_unheard", $"{Name}.TXD", $"{Name} {why}");
            }
            else
            {
                Sink(data);
            }
        }

        // Ends the transfer after the current byte, with ENDTX and TXSTOPPED.
        public void TaskStoptx()
        {
            if(Regs.Sending)
            {
                Regs.StopSending(false);
            }
            else
            {
                Event("TXSTOPPED");
            }
        }

        // Queues bytes from the host; they arrive when the receiver is ready.
        public void Feed(byte[] data)
        {
            if(Incoming.Count == 0)
            {
                WaitsSince = Chip.Now;
                Begun = false;
            }
            Incoming.AddRange(data);
            StartArrival();
        }

        public void TaskStartrx()
        {
            if(Regs[Enable] != Enabled)
            {
                Misused("STARTRX", $"ENABLE is {Regs[Enable]}: nothing is received");
                return;
            }
            StoreArrived();
            Receiving = true;
            Pointer = Regs[RxdPtr];
            Room = SizeOf("RXD", RxdMaxcnt);
            Received = 0;
            if(Room != 0)
            {
                Chip.CanReach(Name, "write", Pointer, Room);
            }
            Event("RXSTARTED");
            if(Room == 0)
            {
                CancelArrival();
            }
            else if(Due != 0)
            {
                ScheduleArrival();
            }
            StartArrival();
        }

        protected void StartArrival()
        {
            if(Receiving && Room != 0 && Incoming.Count != 0 && Due == 0)
            {
                string why;
                if(Wiring != null && (why = Mismatch("RXD", PselRxd)) != "")
                {
                    Chip.Report("console_unheard", $"{Name}.RXD", $"{Name} {why}");
                    return;
                }
                ReportWaiting();
                Since = Chip.Now;
                ScheduleArrival();
            }
        }

        // Reports bytes that waited for a buffer longer than the receiver's FIFO keeps them.
        protected void ReportWaiting()
        {
            long waited = Chip.Now - WaitsSince;
            long count = Math.Min(Py.Div(waited, TicksPerByte), Incoming.Count);
            if(count <= Fifo || HoldsHostBack())
            {
                return;
            }
            var (kind, loses) = Begun ? ("uart_misused", "loses") : ("input_waited", "may lose");
            double milliseconds = (double)(1000 * waited) / Chip.MemoryMap.CpuHz;
            Chip.Report(kind, $"{Name}.STARTRX",
                $"{Name}: {count} bytes waited {Py.Tenths(milliseconds)} ms for STARTRX: the chip {loses} " +
                $"all but {Fifo}, its FIFO");
        }

        // Whether RTS tells the host to wait.
        protected bool HoldsHostBack()
        {
            var wiring = Wiring;
            long chosen = Regs[PselRts];
            if(wiring == null || !wiring.FlowControl || (Regs[Config] & Hwfc) == 0)
            {
                return false;
            }
            return (chosen & Disconnected) == 0 && (chosen & PinMask) == wiring.Pins.Rts;
        }

        // Schedules the arrival of one byte, or of a whole buffer if RXDRDY is not used.
        protected void ScheduleArrival()
        {
            long interrupts = Regs[Inten];
            long published = Regs[Rxdrdy + PublishAt];
            var singly = (interrupts & RxdrdyBit) != 0 || (published & EnableBit) != 0 || Regs[Rxdrdy] == 0;
            Due = singly ? 1 : Math.Min(Room, Incoming.Count);
            Chip.Schedule(Name, "rx", Since + Due * TicksPerByte);
        }

        protected void CancelArrival()
        {
            Chip.Cancel(Name, "rx");
            Due = 0;
        }

        // Stores the bytes that have arrived by now.
        protected void StoreArrived()
        {
            long ticks = TicksPerByte;
            long count = Math.Min(Due, Py.Div(Chip.Now - Since, ticks));
            if(count == 0)
            {
                return;
            }
            Due -= count;
            Since += count * ticks;
            WaitsSince = Since;
            Begun = true;
            Chip.DmaWrite(Name, Pointer, Py.Slice(Incoming, 0, count).ToArray());
            Incoming.RemoveRange(0, (int)count);
            Pointer += count;
            Room -= count;
            Received += count;
            Event("RXDRDY");
        }

        protected void Reschedule()
        {
            StoreArrived();
            if(Due != 0)
            {
                ScheduleArrival();
            }
        }

        public void WriteEventsRxdrdy(long value)
        {
            StoreArrived();
            WriteEvent(Rxdrdy, value);
            Reschedule();
        }

        protected override void WriteInten(long value)
        {
            base.WriteInten(value);
            Reschedule();
        }

        public void WritePublishRxdrdy(long value)
        {
            Regs[Rxdrdy + PublishAt] = value;
            Reschedule();
        }

        public void TaskStoprx()
        {
            if(StopReceiving())
            {
                EndRx();
            }
            Event("RXTO");
        }

        // Stops the receiver; returns True if the buffer was not full.
        protected bool StopReceiving()
        {
            StoreArrived();
            CancelArrival();
            var openBuffer = Receiving && Room > 0;
            Receiving = false;
            return openBuffer;
        }

        // Ends at once: the modelled FIFO is always empty.
        public void TaskFlushrx()
        {
            Regs[RxdAmount] = 0;
            Event("ENDRX");
        }

        protected void EndRx()
        {
            Regs[RxdAmount] = Received;
            Room = 0;
            Event("ENDRX");
        }

        public override void Fire(string tag)
        {
            StoreArrived();
            if(Room == 0)
            {
                EndRx();
            }
            StartArrival();
        }

        protected override void Declare()
        {
            Task(0x000, "STARTRX", TaskStartrx);
            Task(0x004, "STOPRX", TaskStoprx);
            Task(0x008, "STARTTX", TaskStarttx);
            Task(0x00C, "STOPTX", TaskStoptx);
            Task(0x02C, "FLUSHRX", TaskFlushrx);
            Event(0x100, "CTS");
            Event(0x104, "NCTS");
            Event(0x108, "RXDRDY", write: WriteEventsRxdrdy);
            Event(0x110, "ENDRX");
            Event(0x11C, "TXDRDY");
            Event(0x120, "ENDTX");
            Event(0x124, "ERROR");
            Event(0x144, "RXTO");
            Event(0x14C, "RXSTARTED");
            Event(0x150, "TXSTARTED");
            Event(0x158, "TXSTOPPED");
            Publish(0x108, WritePublishRxdrdy);
            Short(5, "ENDRX", "STARTRX");
            Short(6, "ENDRX", "STOPRX");
            Register(0x480, "ERRORSRC", access: "r");
            Register(0x500, "ENABLE", write: WriteEnable);
            Register(0x508, "PSEL_RTS", reset: 0xFFFFFFFF);
            Register(0x50C, "PSEL_TXD", reset: 0xFFFFFFFF, write: WritePselTxd);
            Register(0x510, "PSEL_CTS", reset: 0xFFFFFFFF, write: WritePselCts);
            Register(0x514, "PSEL_RXD", reset: 0xFFFFFFFF);
            Register(0x524, "BAUDRATE", reset: 0x4000000, write: WriteBaudrate);
            Register(0x564, "RXENABLED", access: "r");
            Register(0x568, "TXENABLED", access: "r");
            Register(0x534, "RXD_PTR");
            Register(0x538, "RXD_MAXCNT");
            Register(0x53C, "RXD_AMOUNT", access: "r");
            Register(0x544, "TXD_PTR");
            Register(0x548, "TXD_MAXCNT");
            Register(0x54C, "TXD_AMOUNT", access: "r");
            Register(0x56C, "CONFIG", write: WriteConfig);
        }

        // Discards sent bytes: nothing is connected to this port.
        private static void Discard(byte[] data)
        {
        }

        // The pin selected by a PSEL register, such as "P0.29".
        private static string Pin(long chosen)
        {
            return (chosen & Disconnected) != 0 ? "disconnected" : $"P0.{chosen & PinMask:D2}";
        }

        public Action<byte[]> Sink = Discard;
        public ConsoleWiring Wiring = null;
        public List<byte> Incoming = new List<byte>();  // bytes from the host that have not yet arrived
        public bool Receiving;
        public long Due;
        public long Since;
        public long WaitsSince;
        public bool Begun;
        public long Pointer;
        public long Room;
        public long Received;

        private const long Enabled = 8;
        private const long Baudrate = 0x524, Config = 0x56C, Enable = 0x500, PselTxd = 0x50C, PselRxd = 0x514;
        private const long PselCts = 0x510, PselRts = 0x508;
        private const long Disconnected = 0x80000000, PinMask = 0x1F;  // of a PSEL register
        // CONFIG: hardware flow control, parity (3 bits), two stop bits.
        private const long Parity = 0xE, Stop = 0x10, Hwfc = 1;
        // Tolerated deviation of the baud rate. A receiver samples the middle of each bit, synchronized by
        // the start bit, and fails if the last of ten bits is shifted by half a bit: 5 %, less the sampling
        // error. 3 % is a common tolerance (from memory; neither the PS nor the interface MCU's guide gives
        // one).
        private const double Tolerance = 0.03;
        private const long MaxBytes = 0x1FFF;
        // Bytes that the receiver keeps while it has no buffer (nRF52840 PS, "UART"; four are certain).
        private const long Fifo = 6;
        private const long Rxdrdy = 0x108, RxdrdyBit = 4;
        private const long RxdPtr = 0x534, RxdMaxcnt = 0x538, RxdAmount = 0x53C;
        private const long TxdMaxcnt = 0x548, TxdPtr = 0x544, TxdAmount = 0x54C;
    }

    // Power control of RAM sections; the modelled RAM is always on (nRF9160 PS, "VMC").
    public partial class Vmc : Device
    {
        public Vmc(Chip chip, string block) : base(chip, block)
        {
        }

        protected override void Declare()
        {
            Register(0x600, "RAM0_POWER", reset: 0xFFFF);
            Register(0x604, "RAM0_POWERSET", reset: 0xFFFF);
            Register(0x608, "RAM0_POWERCLR", reset: 0xFFFF);
            Register(0x610, "RAM1_POWER", reset: 0xFFFF);
            Register(0x614, "RAM1_POWERSET", reset: 0xFFFF);
            Register(0x618, "RAM1_POWERCLR", reset: 0xFFFF);
            Register(0x620, "RAM2_POWER", reset: 0xFFFF);
            Register(0x624, "RAM2_POWERSET", reset: 0xFFFF);
            Register(0x628, "RAM2_POWERCLR", reset: 0xFFFF);
            Register(0x630, "RAM3_POWER", reset: 0xFFFF);
            Register(0x634, "RAM3_POWERSET", reset: 0xFFFF);
            Register(0x638, "RAM3_POWERCLR", reset: 0xFFFF);
            Register(0x640, "RAM4_POWER", reset: 0xFFFF);
            Register(0x644, "RAM4_POWERSET", reset: 0xFFFF);
            Register(0x648, "RAM4_POWERCLR", reset: 0xFFFF);
            Register(0x650, "RAM5_POWER", reset: 0xFFFF);
            Register(0x654, "RAM5_POWERSET", reset: 0xFFFF);
            Register(0x658, "RAM5_POWERCLR", reset: 0xFFFF);
            Register(0x660, "RAM6_POWER", reset: 0xFFFF);
            Register(0x664, "RAM6_POWERSET", reset: 0xFFFF);
            Register(0x668, "RAM6_POWERCLR", reset: 0xFFFF);
            Register(0x670, "RAM7_POWER", reset: 0xFFFF);
            Register(0x674, "RAM7_POWERSET", reset: 0xFFFF);
            Register(0x678, "RAM7_POWERCLR", reset: 0xFFFF);
        }
    }

    // Counts CRV + 1 cycles of the 32 768 Hz clock from the last complete reload.
    public partial class Watchdog : Nordic
    {
        public Watchdog(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            base.Reset();
            // Since the last reload: n -> what RR[n] got in vain: not the key, or not enabled by RREN.
            Refused = new Dictionary<long, long>();
        }

        public override void Connect(IDictionary<string, Device> devices)
        {
            var clock = (Clock)devices["CLOCK"];
            Clock = clock;
        }

        protected void After(string tag, long cycles, long delay = 0)
        {
            var clocks = Chip.MemoryMap;
            long ticks = -Py.Div(-cycles * clocks.CpuHz, clocks.LfclkHz);
            Chip.Schedule(Name, tag, Chip.Now + delay + ticks);
        }

        public void TaskStart()
        {
            if(Regs[Runstatus] == 0)
            {
                Regs[Runstatus] = 1;
                double starts = Clock.LfclkRuns ? 0 : LfrcSeconds;
                Reload((long)Math.Round(starts * Chip.MemoryMap.CpuHz));
            }
        }

        protected void Reload(long delay = 0)
        {
            Regs[Reqstatus] = Regs[Rren] & 0xFF;
            Refused = new Dictionary<long, long>();
            After("timeout", Math.Max(Regs[Crv], MinCrv) + 1, delay);
        }

        protected void WhenStopped(long offset, long value)
        {
            if(Regs[Runstatus] == 0)
            {
                Regs[offset] = value;
            }
        }

        public void WriteCrv(long value)
        {
            WhenStopped(Crv, value);
        }

        public void WriteRren(long value)
        {
            WhenStopped(Rren, value & 0xFF);
        }

        public void WriteConfig(long value)
        {
            WhenStopped(Config, value);
        }

        public void WriteRr(long index, long value)
        {
            if(Regs[Runstatus] == 0)
            {
                return;
            }
            if(value != ReloadKey || (Regs[Rren] >> (int)index & 1) == 0)
            {
                Refused[index] = value;
                return;
            }
            Regs[Reqstatus] &= ~(1L << (int)index);
            if(Regs[Reqstatus] == 0)
            {
                Reload();
            }
        }

        // What was wrong with the writes to RR, or that they did not come in time.
        protected string WhyNotReloaded()
        {
            long enabled = Regs[Rren] & 0xFF;
            long waiting = Regs[Reqstatus];
            foreach(var (index, value) in Refused)
            {
                if(value != ReloadKey)
                {
                    var wrong = $"RR[{index}] was written with 0x{value:x8}, not 0x{ReloadKey:x8}";
                    return $"{wrong} (the key)";
                }
                if(waiting == enabled)
                {
                    return $"RR[{index}] was reloaded, and RREN (0x{enabled:x2}) does not enable it";
                }
            }
            if(waiting != enabled)
            {
                var left = string.Join(", ", Py.Range(Channels).Where(n => (waiting >> (int)n & 1) != 0)
                    .Select(n => $"RR[{n}]"));
                return $"{left} of RREN (0x{enabled:x2}) was not reloaded";
            }
            return "it was not reloaded in time";
        }

        public override void Fire(string tag)
        {
            if(tag == "timeout")
            {
                After("reset", ResetCycles);
                Event("TIMEOUT");
            }
            else
            {
                var text = $"the watchdog reset the chip: {WhyNotReloaded()}";
                Chip.Report("rebooted", Name, text);
                Chip.SystemReset(Chip.MemoryMap.Resetreas.Dog);
            }
        }

        public override bool Awaits(string tag) => tag == "timeout" || tag == "reset";

        protected override void Declare()
        {
            Task(0x000, "START", TaskStart);
            Event(0x100, "TIMEOUT");
            Register(0x400, "RUNSTATUS", access: "r");
            Register(0x404, "REQSTATUS", reset: 1, access: "r");
            Register(0x504, "CRV", reset: 0xFFFFFFFF, write: WriteCrv);
            Register(0x508, "RREN", reset: 1, write: WriteRren);
            Register(0x50C, "CONFIG", reset: 1, write: WriteConfig);
            Registers(0x600, "RR", 8, access: "w", write: WriteRr);
        }

        public Dictionary<long, long> Refused;
        protected Clock Clock;

        private const long ReloadKey = 0x6E52_4635;
        private const long Channels = 8;
        private const long Runstatus = 0x400, Reqstatus = 0x404, Rren = 0x508, Crv = 0x504, Config = 0x50C;
        private const long MinCrv = 0xF;
        // LFCLK cycles from TIMEOUT to the reset.
        private const long ResetCycles = 2;
        private const double LfrcSeconds = 0.000_600;
    }

    // Offsets of the registers of a split peripheral, by how they are divided.
    public partial class SplitRegisters
    {
        public HashSet<long> Words = new HashSet<long>();
        public HashSet<long> Actions = new HashSet<long>();
        public long[] Items = Py.Range(0, 0, 1);
        public HashSet<long> Secure = new HashSet<long>();

        public static readonly SplitRegisters Gpio = new SplitRegisters
        {
            Words = new HashSet<long> { 4, 0x10, 0x14 },
            Actions = new HashSet<long> { 8, 0xC, 0x18, 0x1C, 0x20 },
            Items = Py.Range(0x200, 0x280, 4),
            Secure = new HashSet<long> { 0x28 },
        };

        public static readonly SplitRegisters Dppi = new SplitRegisters
        {
            Words = new HashSet<long> { 0x500, 0x800, 0x804, 0x808, 0x80C, 0x810, 0x814 },
            Actions = new HashSet<long> { 0x504, 0x508 },
            Items = Py.Range(0, 0, 1),
            Secure = new HashSet<long>(),
        };

        public static readonly SplitRegisters Nvmc = new SplitRegisters
        {
            Words = new HashSet<long>(),
            Actions = new HashSet<long>(),
            Items = Py.Range(0, 0, 1),
            Secure = new HashSet<long> { 0x500, 0x504, 0x50C, 0x51C, 0x540 },
        };
    }

    // A split peripheral as non-secure code accesses it.
    public partial class NonSecureView
    {
        public NonSecureView(Device device, SplitRegisters split, Func<long> nonsecure)
        {
            Device = device;
            Split = split;
            Nonsecure = nonsecure;
        }

        protected bool Hides(long offset)
        {
            var split = Split;
            if(split.Items.Contains(offset))
            {
                return (Nonsecure() >> (int)Array.IndexOf(split.Items, offset) & 1) == 0;
            }
            return split.Secure.Contains(offset);
        }

        // The word at offset, with zeros for secure bits.
        public long Read(long offset)
        {
            if(Hides(offset))
            {
                return 0;
            }
            long value = Device.Read(offset);
            var bitwise = Split.Words.Contains(offset) || Split.Actions.Contains(offset);
            return bitwise ? value & Nonsecure() : value;
        }

        // Writes the word at offset, except its secure bits.
        public void Write(long offset, long value)
        {
            if(Hides(offset))
            {
                return;
            }
            if(Split.Words.Contains(offset))
            {
                long mask = Nonsecure();
                value = Device.Read(offset) & ~mask | value & mask;
            }
            else if(Split.Actions.Contains(offset))
            {
                value &= Nonsecure();
            }
            Device.Write(offset, value);
        }

        protected Device Device;
        protected SplitRegisters Split;
        protected Func<long> Nonsecure;
    }

    // Messages about accesses to peripherals, whichever part of a chip reports them.
    public static class Texts
    {
        // EasyDMA that may not "read" or "write": non-secure in secure memory, or no data RAM.
        public static string DmaRefused(string device, string access, long address, long size, bool secure)
        {
            var why = secure ? "secure memory, and it is non-secure" : "outside data RAM";
            return $"EasyDMA of {device} cannot {access} {size} bytes at 0x{address:x8}, {why}";
        }

        // An access of size bytes, one or two, to a register.
        public static string PartOfRegister(string register, bool isWrite, long size)
        {
            var part = size == 1 ? "a byte" : "a halfword";
            var verb = isWrite ? "written" : "read";
            return $"{part} of {register} was {verb}: registers take words only";
        }

        // An access at the alias where a peripheral does not answer.
        public static string OtherAlias(Table table, Block block, long address)
        {
            long other = address ^ table.SecureWindow ^ table.NonsecureWindow;
            var state = address >= table.SecureWindow ? "non-secure" : "secure";
            return $"nothing answers at 0x{address:x8}: {block.Name} is {state}, and its address is " +
                $"0x{other:x8}";
        }

        // A register or block without a model that was "read" or "written".
        public static string Unmodelled(string subject, string use)
        {
            return $"{subject} has no model and was {use}";
        }

        // A task that the model of its peripheral lacks.
        public static string UnmodelledTask(string task)
        {
            return Unmodelled(task, "triggered");
        }

        // A task whose event executes it again, directly or through others.
        public static string Endless(string device)
        {
            return $"events and tasks of {device} trigger one another without end, which is not modelled";
        }
    }
}
