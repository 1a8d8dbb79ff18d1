// A chip as the models in models.cs see it: virtual time, DPPI, EasyDMA, security, findings, resets.
//
// It is for Renode 1.17 or later. Every model of a chip has one Chip, which is made before them:
//
//     chip: Nordic.Chip @ sysbus
//         table: "nrf9160"
//         cpu: cpu
//
// Time is counted in instructions of the core, and is known to eight of them, as Renode counts it.

using System;
using System.Collections.Generic;
using System.Linq;

using Antmicro.Renode.Core;
using Antmicro.Renode.Logging;
using Antmicro.Renode.Peripherals.Bus;
using Antmicro.Renode.Peripherals.CPU;
using Antmicro.Renode.Peripherals.Miscellaneous;
using Antmicro.Renode.Time;

namespace Antmicro.Renode.Peripherals.Nordic
{
    public class Chip : IPeripheral
    {
        // "table" is the name of a chip in platforms/chips.
        public Chip(IMachine machine, string table, CortexM cpu)
        {
            Machine = machine;
            this.cpu = cpu;
            MemoryMap = Tables.Of(table);
            Findings = new List<Finding>();
            machine.ClockSource.AddClockEntry(new ClockEntry(1, NanosecondsPerSecond, OnAlarm, this, "next event",
                enabled: false, direction: Direction.Descending, workMode: WorkMode.OneShot));
            machine.MachineReset += OnMachineReset;
        }

        // The first of a machine's reset, whose last is OnMachineReset().
        public void Reset()
        {
            IsInReset = true;
            Forget();
        }

        // As after power-on, at time 0.
        public void PowerOn()
        {
            Connect();
            powerOns++;
            halted = null;
            origin = Clock;
            Skipped = 0;
            noted.Clear();
            Findings.Clear();
            Forget();
            reason = null;
            foreach(var device in devices.Values)
            {
                device.PowerOn();
            }
            Arm();
        }

        public IMachine Machine { get; private set; }

        public CortexM Core { get { return cpu; } }

        public Table MemoryMap { get; private set; }

        // Instructions of polling loops whose time was skipped since power-on.
        public long Skipped { get; private set; }

        // Called at each read of a register, with the number of instructions that are skipped.
        public Action<long> PollSeen { get; set; }

        // Seen by models, in order; each kind and subject once.
        public List<Finding> Findings { get; private set; }

        // Whether the machine's peripherals are being reset, one after the other.
        public bool IsInReset { get; private set; }

        // System OFF: nothing runs until a pin resets the chip.
        public bool Off { get; private set; }

        // -- devices -----------------------------------------------------------------------------

        public void Add(Device device)
        {
            devices[device.Name] = device;
        }

        public Device this[string name] { get { return devices[name]; } }

        // An access by the core, or by a debugger; "secure" is the window through which it comes.
        public long Access(Device device, bool isWrite, bool secure, long offset, int size, long value)
        {
            bool fromCore = Synchronize();
            observed = !fromCore;
            try
            {
                if(fromCore)
                {
                    Admit(device, isWrite, secure, offset, size);
                }
                NonSecureView view = null;
                bool divided = fromCore && IsNonSecure && views.TryGetValue(device.Name, out view);
                long word = offset & ~3L;
                int shift = 8 * (int)(offset & 3);
                if(!isWrite)
                {
                    long read = divided ? view.Read(word) : device.Read(word);
                    Arm(executes: !(fromCore && IsPolling(device, word, read)));
                    SkipPolls();
                    return read >> shift;
                }
                polled = new Poll();
                long part = ((1L << 8 * size) - 1 & value) << shift;
                Action<long, long> write = divided ? (Action<long, long>)view.Write : device.Write;
                write(word, part);
                nvmc.Mend();
                CatchUp();
                Arm();
                return 0;
            }
            finally
            {
                observed = false;
            }
        }

        // -- time --------------------------------------------------------------------------------

        // Virtual time in ticks of the CPU clock; that of the event while one is handled. It stands still
        // while the core is halted from outside, though Renode's goes on.
        public long Now { get { return processing ?? (halted == null ? Clock : HaltedClock) - origin; } }

        // Halts the core after the current block.
        public void Halt()
        {
            if(cpu.OnPossessedThread)
            {
                cpu.SyncTime();
            }
            halted = new HaltedAt { Clock = Clock, Executed = cpu.ExecutedInstructions };
            cpu.IsHalted = true;
        }

        // To be called when a core that was halted runs again; returns the ticks that were lost.
        public long Resumed()
        {
            if(halted == null)
            {
                return 0;
            }
            long lost = Clock - HaltedClock;
            halted = null;
            origin += lost;
            armedFor = Never;
            Arm();
            return lost;
        }

        public void Schedule(string device, string tag, long time)
        {
            Cancel(device, tag);
            queue.Add(new Pending { Time = time, Device = devices[device], Tag = tag });
        }

        public void Cancel(string device, string tag)
        {
            queue.RemoveAll(one => one.Device.Name == device && one.Tag == tag);
        }

        // The tick of the next event; Never if there is none. "executes": the core does, which may change
        // bytes that a UARTE is to send.
        public long NextTime(bool executes = true)
        {
            long next = Never;
            foreach(var one in queue)
            {
                next = Math.Min(next, one.Time);
            }
            foreach(var uarte in uartes)
            {
                var transfer = uarte.Regs;
                if(transfer.Waits)
                {
                    return Now;
                }
                if(transfer.Sending)
                {
                    next = Math.Min(next, executes ? transfer.NextByte : transfer.NextNoticed);
                }
            }
            foreach(var rtc in rtcs)
            {
                next = Math.Min(next, rtc.Regs.Due);
            }
            return next;
        }

        // Tasks that are being executed: each because of an event of the one before.
        public int Nested { get; set; }

        // Calls a function when no instruction is executed, unless the power went off before.
        public void Later(Action act)
        {
            int asked = powerOns;
            Machine.LocalTimeSource.ExecuteInNearestSyncedState(_ =>
            {
                if(asked == powerOns)
                {
                    act();
                }
            });
        }

        // Nothing to do: the alarm is set at the end of each access.
        public void StopBy(long time)
        {
        }

        public const long Never = long.MaxValue;

        // -- what rests ask ----------------------------------------------------------------------

        // Whether something is to come for which a run waits though no interrupt may follow.
        public bool IsAwaited
        {
            get { return uartes.Any(one => one.Regs.Sending) || queue.Any(one => one.Device.Awaits(one.Tag)); }
        }

        // The interrupts that events to come may pend, directly or through DPPI.
        public int[] Interrupts
        {
            get
            {
                var found = new HashSet<Device>();
                var waiting = new Stack<Device>(queue.Select(one => one.Device));
                foreach(var rtc in rtcs.Where(one => one.Regs.Due < Never))
                {
                    waiting.Push(rtc);
                }
                while(waiting.Count > 0)
                {
                    var one = waiting.Pop();
                    var publisher = found.Add(one) ? one as Nordic : null;
                    foreach(var other in publisher == null ? new Nordic[0] : Subscribers(publisher))
                    {
                        waiting.Push(other);
                    }
                }
                return found.Where(one => one.CanInterrupt).Select(one => (int)one.Irq.Value).ToArray();
            }
        }

        // -- DPPI --------------------------------------------------------------------------------

        // Subscriptions have changed; they are looked up anew for each event.
        public void Rewired()
        {
        }

        public void Publish(long channel, Nordic publisher)
        {
            if(!dppic.Enabled(channel) || !MayUse(channel, publisher))
            {
                return;
            }
            foreach(var device in nordics.Where(one => one.Subscriptions.ContainsKey(channel)))
            {
                if(MayUse(channel, device))
                {
                    device.TriggerSubscribers(channel);
                }
            }
        }

        // -- EasyDMA -----------------------------------------------------------------------------

        // Whether EasyDMA may "read" or "write" there: in data RAM only; reports it if not.
        public bool CanReach(string device, string access, long address, long size)
        {
            bool refused = IsRefused(device, address, size);
            if(!refused && MemoryMap.Area("ram").Holds(address, size))
            {
                return true;
            }
            Report("dma_refused", device, Texts.DmaRefused(device, access, address, size, refused));
            return false;
        }

        public void DmaWrite(string device, long address, byte[] data)
        {
            if(CanReach(device, "write", address, data.Length))
            {
                Machine.SystemBus.WriteBytes(data, (ulong)address);
            }
        }

        public byte[] ReadMemory(long address, long size)
        {
            return Machine.SystemBus.ReadBytes((ulong)address, (int)size);
        }

        public long FlashWord(long address)
        {
            return Machine.SystemBus.ReadDoubleWord((ulong)address);
        }

        // Starts the transfer of a UARTE.
        public void Send(Registers registers)
        {
            registers.Begin();
        }

        // -- findings ----------------------------------------------------------------------------

        public void Unmodelled(string subject, string what)
        {
            Report("unmodelled_access", subject, Texts.Unmodelled(subject, what));
        }

        public void Report(string kind, string subject, string message, long? pc = null)
        {
            if(!observed && noted.Count < MostFindings && noted.Add($"{kind} {subject}"))
            {
                long place = pc ?? Pc;
                Findings.Add(new Finding { Kind = kind, Subject = subject, Message = message, Pc = place, Time = Now });
                Warn(message, place);
            }
        }

        // What ends an access of the core with a BusFault.
        public BusAccessException Refusal(string what)
        {
            Warn($"the bus refuses an access to {what}", Pc);
            return new BusAccessException(BusAccessError.CommandError);
        }

        // The address of the current instruction.
        public long Pc { get { return (long)cpu.PC.RawValue & ~1L; } }

        // -- security ----------------------------------------------------------------------------

        // Applies a change of the SPU.
        public void SecurityChanged()
        {
            if(!IsAlone)
            {
                bool regions = attribution.Apply(cpu, spu, MemoryMap);
                IsDivided |= regions || spu.HasNonsecurePeripherals;
            }
        }

        // What firmware's write to SAU_CTRL becomes.
        public uint SauControl(uint value)
        {
            return attribution.Control(value);
        }

        // Whether anything is non-secure.
        public bool IsDivided { get; private set; }

        // Whether the core has no security states, for a non-secure image alone.
        public bool IsAlone { get { return !cpu.TrustZoneEnabled; } }

        // Whether the core is in non-secure state.
        public bool IsNonSecure { get { return cpu.TrustZoneEnabled && !cpu.SecureState; } }

        // -- ends and resets ---------------------------------------------------------------------

        // Enters System OFF, which a pin at its SENSE level ends ("System OFF mode").
        public void SystemOff()
        {
            Off = true;
            cpu.IsHalted = true;
            PinsSensed();
        }

        public void PinsSensed()
        {
            if(Off && port.Detect)
            {
                SystemReset(MemoryMap.Resetreas.Off);
            }
        }

        // Nothing to do: stores to flash are mended in their access (see Nvmc).
        public void Stop()
        {
        }

        // Resets the chip; "cause" is a bit of RESETREAS.
        public void SystemReset(long cause)
        {
            reason = cause;
            cpu.IsHalted = false;
            Later(Machine.Reset);
            cpu.RequestReturn();
        }

        // The reset that comes is one by the reset pin.
        public void PinReset()
        {
            reason = MemoryMap.Resetreas.Pin;
        }

        // Lets the core execute nothing until a tick.
        public void Stall(long until)
        {
            Skip(until - Now, 1);
        }

        // -- private -----------------------------------------------------------------------------

        private void Connect()
        {
            if(connected)
            {
                return;
            }
            connected = true;
            uartes = devices.Values.OfType<Uarte>().ToArray();
            rtcs = devices.Values.OfType<Rtc>().ToArray();
            nordics = devices.Values.OfType<Nordic>().ToArray();
            dppic = (Dppic)devices["DPPIC"];
            spu = (Spu)devices["SPU"];
            port = (Gpio)devices["P0"];
            nvmc = (Nvmc)devices["NVMC"];
            CorrectCounter();
            foreach(var device in devices.Values)
            {
                device.Connect(devices);
            }
            attribution.Watch(Machine);
            views["P0"] = new NonSecureView(port, SplitRegisters.Gpio, () => spu.NonsecurePins);
            views["DPPIC"] = new NonSecureView(dppic, SplitRegisters.Dppi, () => spu.NonsecureChannels);
            views["NVMC"] = new NonSecureView(devices["NVMC"], SplitRegisters.Nvmc, () => 0);
        }

        private void Warn(string message, long place)
        {
            string symbol = Machine.SystemBus.FindSymbolAt((ulong)place, cpu);
            this.Log(LogLevel.Warning, "{0} (at 0x{1:X}{2})", message, place, symbol == null ? "" : $", {symbol}");
        }

        private void Forget()
        {
            queue.Clear();
            Off = false;
            IsDivided = false;
            attribution.Forget();
        }

        private void OnMachineReset(IMachine sender)
        {
            long cause = reason ?? MemoryMap.Resetreas.Soft;
            reason = null;
            IsInReset = false;
            ((Clock)devices["CLOCK"]).AddResetReason(cause);
            ((Nvmc)devices["NVMC"]).GuardAgain();
            Arm();
        }

        // Brings the time to the instruction that accesses a register; whether the core does so.
        public bool Synchronize()
        {
            Connect();
            ICPU current;
            bool fromCore = Machine.SystemBus.TryGetCurrentCPU(out current) && cpu.OnPossessedThread;
            if(fromCore)
            {
                cpu.SyncTime();
            }
            CatchUp();
            return fromCore;
        }

        private void OnAlarm()
        {
            armedFor = Never;
            CatchUp();
            Arm();
        }

        // Handles the events that are due, each at its own time.
        private void CatchUp()
        {
            if(processing != null || !connected || Off)
            {
                return;
            }
            long now = Now;
            for(long next = NextTime(); next <= now; next = NextTime())
            {
                processing = next;
                try
                {
                    RunDue(next);
                }
                finally
                {
                    processing = null;
                }
            }
        }

        private void RunDue(long now)
        {
            foreach(var uarte in uartes)
            {
                while(uarte.Regs.Sending && !uarte.Regs.Waits && uarte.Regs.NextByte <= now)
                {
                    uarte.Regs.SendByte();
                }
                if(uarte.Regs.Waits)
                {
                    uarte.Settle();
                }
            }
            foreach(var rtc in rtcs.Where(one => one.Regs.Due <= now))
            {
                rtc.Settle();
            }
            foreach(var one in queue.Where(one => one.Time <= now).OrderBy(one => one.Time).ToArray())
            {
                if(queue.Remove(one))
                {
                    one.Device.Fire(one.Tag);
                }
            }
        }

        // Sets the alarm to the next event.
        public void Arm(bool executes = true)
        {
            long next = connected ? NextTime(executes) : Never;
            if(next == armedFor)
            {
                return;
            }
            armedFor = next;
            bool comes = next != Never;
            ulong delay = comes ? (ulong)Math.Max(1, Nanoseconds(next + origin) - ClockNs) : 1;
            Machine.ClockSource.ExchangeClockEntryWith(OnAlarm,
                old => old.With(period: delay, value: delay, enabled: comes));
            if(cpu.OnPossessedThread)
            {
                cpu.RequestReturn();
            }
        }

        // Refuses an access of the core where the device does not answer, and reports one to a part of
        // a register.
        private void Admit(Device device, bool isWrite, bool secure, long offset, int size)
        {
            if(AnswersElsewhere(device, secure, offset))
            {
                throw Refusal($"{device.Name}+0x{offset:x}");
            }
            if(size < 4)
            {
                string register = $"{device.Name}.{device.RegisterName(offset)}";
                Report("forbidden_access", register, Texts.PartOfRegister(register, isWrite, size));
            }
        }

        // Whether the core reads a register in a loop that nothing changes before the next event.
        private bool IsPolling(Device device, long offset, long value)
        {
            if(device != polled.Device || offset != polled.Offset || value != polled.Value)
            {
                polled = new Poll { Device = device, Offset = offset, Value = value };
                return false;
            }
            long pc = Pc, executed = (long)cpu.ExecutedInstructions, turn = executed - polled.Executed;
            bool steady = pc == polled.Pc && turn == polled.Turn && turn <= LongestTurn;
            long until = steady ? device.ConstantUntil(offset) : 0;
            polled = new Poll { Device = device, Offset = offset, Value = value, Pc = pc, Turn = turn,
                Executed = executed, Until = until };
            return until > 0;
        }

        // Skips the time to the next event for a core that polls, by whole turns of its loop.
        private void SkipPolls()
        {
            long skipped = 0;
            if(polled.Until > 0)
            {
                ulong limit = Math.Min(((BaseClockSource)Machine.ClockSource).NearestLimitIn.Ticks, LongestSkip);
                long ticks = (long)limit * MemoryMap.CpuHz / NanosecondsPerSecond;
                skipped = Skip(Math.Min(ticks, polled.Until - Now), polled.Turn);
            }
            Skipped += skipped;
            PollSeen?.Invoke(skipped);
        }

        // Lets time pass by a multiple of "unit" instructions, and of eight, as Renode counts it.
        private long Skip(long ticks, long unit)
        {
            while(unit % 8 != 0)
            {
                unit *= 2;
            }
            long whole = cpu.OnPossessedThread ? Math.Max(ticks, 0) / unit * unit : 0;
            if(whole > 0)
            {
                cpu.SkipTime(TimeInterval.FromTicks((ulong)(whole * NanosecondsPerSecond / MemoryMap.CpuHz)));
                cpu.RequestReturn();
            }
            return whole;
        }

        private bool AnswersElsewhere(Device device, bool secure, long offset)
        {
            long window = secure ? MemoryMap.SecureWindow : MemoryMap.NonsecureWindow;
            long address = window + device.Block.Offset + offset;
            bool isThere = device.Block.Bases.Contains(window);
            if(isThere && !IsDivided && (IsAlone || secure))
            {
                return false;
            }
            bool refused = !isThere || spu.Refuses(device.Block, address);
            if(refused && !(isThere && IsNonSecure))
            {
                Report("forbidden_access", $"0x{address:x8}", Texts.OtherAlias(MemoryMap, device.Block, address));
            }
            return refused;
        }

        private bool IsRefused(string device, long address, long size)
        {
            if(!IsDivided || spu.HasSecureDma(devices[device].Block.Number))
            {
                return false;
            }
            if(!IsSecure(address) && !IsSecure(address + Math.Max(size - 1, 0)))
            {
                return false;
            }
            spu.Event("RAMACCERR");
            return true;
        }

        // Whether an address of memory is secure.
        public bool IsSecure(long address)
        {
            return attribution.IsSecure(spu, MemoryMap, address);
        }

        private bool MayUse(long channel, Nordic device)
        {
            return !IsDivided || spu.AllowsChannel(device.Block.Number, channel);
        }

        private Nordic[] Subscribers(Nordic publisher)
        {
            var channels = publisher.PublishedOn.Where(dppic.Enabled).ToArray();
            return nordics.Where(one => channels.Any(one.Subscriptions.ContainsKey)).ToArray();
        }

        // The tick of the last instruction before the core was halted.
        private long HaltedClock
        {
            get { return halted.Value.Clock + (long)(cpu.ExecutedInstructions - halted.Value.Executed); }
        }

        private long ClockNs { get { return (long)Machine.ClockSource.CurrentValue.Ticks; } }

        // Ticks of Renode's clock, and the instructions that it does not have yet.
        private long Clock { get { return ReportedTicks + Unreported; } }

        private long ReportedTicks
        {
            get
            {
                long ns = ClockNs, hz = MemoryMap.CpuHz;
                return ns / NanosecondsPerSecond * hz
                    + (ns % NanosecondsPerSecond * hz + NanosecondsPerSecond - 1) / NanosecondsPerSecond;
            }
        }

        // The translation library reports by eight instructions, and in the last block before a limit it
        // hides what it has executed since it was called. Sleep moves the clock alone.
        private long Unreported
        {
            get
            {
                long lead = (long)(cpu.ExecutedInstructions + cpu.SkippedInstructions) - ReportedTicks;
                leastLead = Math.Min(leastLead, lead);
                return lead - leastLead;
            }
        }

        // DWT's counter has what the clock does not have yet, too.
        private void CorrectCounter()
        {
            var dwt = (DWT)Machine["sysbus.dwt"];
            Func<long, long> unreported = offset =>
                offset == Cyccnt && cpu.OnPossessedThread && (dwt.ReadDoubleWord(0) & 1) != 0 ? Unreported : 0;
            Machine.SystemBus.SetHookAfterPeripheralRead<uint>(dwt,
                (value, offset) => (uint)(value + unreported(offset)));
            Machine.SystemBus.SetHookBeforePeripheralWrite<uint>(dwt,
                (value, offset) => (uint)(value - unreported(offset)));
        }

        private long Nanoseconds(long ticks)
        {
            long hz = MemoryMap.CpuHz;
            return ticks / hz * NanosecondsPerSecond + (ticks % hz * NanosecondsPerSecond + hz - 1) / hz;
        }

        private Uarte[] uartes = new Uarte[0];
        private Rtc[] rtcs = new Rtc[0];
        private Nordic[] nordics = new Nordic[0];
        private Dppic dppic;
        private Spu spu;
        private Gpio port;
        private Nvmc nvmc;
        private bool connected;

        private int powerOns;
        private long leastLead = Never;  // of instructions on the clock
        private long origin;  // the tick of power-on
        private bool observed;  // by a debugger, whose accesses are no findings
        private HaltedAt? halted;  // from outside
        private long? processing;  // the tick of the event that is handled
        private long armedFor = Never;
        private long? reason;  // of the reset that comes

        private Poll polled;

        private readonly CortexM cpu;
        private readonly Attribution attribution = new Attribution();
        private readonly Dictionary<string, Device> devices = new Dictionary<string, Device>();
        private readonly Dictionary<string, NonSecureView> views = new Dictionary<string, NonSecureView>();
        private readonly List<Pending> queue = new List<Pending>();
        private readonly HashSet<string> noted = new HashSet<string>();

        private const int NanosecondsPerSecond = 1000000000;
        private const ulong LongestSkip = 1000000;  // ns: no event may be due at all, and input may come
        private const long Cyccnt = 4;  // of DWT
        private const int MostFindings = 1000;
        private const int LongestTurn = 256;  // instructions of a polling loop

        private struct HaltedAt
        {
            public long Clock;
            public ulong Executed;
        }

        private struct Poll
        {
            public Device Device;
            public long Offset, Pc, Value, Executed, Turn, Until;
        }

        private class Pending
        {
            public long Time;
            public Device Device;
            public string Tag;
        }
    }

    // What a model has seen; the time is in ticks.
    public class Finding
    {
        public string Kind;
        public string Subject;
        public string Message;
        public long Pc;
        public long Time;
    }
}
