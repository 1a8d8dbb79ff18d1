// The base classes of the models in models.cs.
//
// Nordic's peripherals share one layout (nRF9160 Product Specification, "Peripheral interface"):
// tasks from 0x000, their SUBSCRIBE registers 0x80 above, events from 0x100, their PUBLISH registers
// 0x80 above, SHORTS at 0x200, INTEN, INTENSET and INTENCLR at 0x300. A register for which a model
// declares no reader or writer is storage.

using System;
using System.Collections.Generic;
using System.Linq;

using Antmicro.Renode.Core;
using Antmicro.Renode.Peripherals.Bus;

namespace Antmicro.Renode.Peripherals.Nordic
{
    public abstract class Device : IBytePeripheral, IWordPeripheral, IDoubleWordPeripheral, IKnownSize
    {
        // "block" is its name in the chip's table.
        protected Device(Chip chip, string block)
        {
            Chip = chip;
            Block = chip.MemoryMap.Peripheral(block);
            Name = block;
            Irq = Block.Irq;
            IRQ = new GPIO();
            Regs = new Registers(chip, Block.Size);
            Declare();
            DeclareCommon();
            chip.Add(this);
            Reset();
        }

        // -- as Renode sees it -------------------------------------------------------------------

        public byte ReadByte(long offset)
        {
            return (byte)Chip.Access(this, false, true, offset, 1, 0);
        }

        public ushort ReadWord(long offset)
        {
            return (ushort)Chip.Access(this, false, true, offset, 2, 0);
        }

        public uint ReadDoubleWord(long offset)
        {
            return (uint)Chip.Access(this, false, true, offset, 4, 0);
        }

        public void WriteByte(long offset, byte value)
        {
            Chip.Access(this, true, true, offset, 1, value);
        }

        public void WriteWord(long offset, ushort value)
        {
            Chip.Access(this, true, true, offset, 2, value);
        }

        public void WriteDoubleWord(long offset, uint value)
        {
            Chip.Access(this, true, true, offset, 4, value);
        }

        [ConnectionRegion("NonSecure")]
        public byte ReadByteNonSecure(long offset)
        {
            return (byte)Chip.Access(this, false, false, offset, 1, 0);
        }

        [ConnectionRegion("NonSecure")]
        public ushort ReadWordNonSecure(long offset)
        {
            return (ushort)Chip.Access(this, false, false, offset, 2, 0);
        }

        [ConnectionRegion("NonSecure")]
        public uint ReadDoubleWordNonSecure(long offset)
        {
            return (uint)Chip.Access(this, false, false, offset, 4, 0);
        }

        [ConnectionRegion("NonSecure")]
        public void WriteByteNonSecure(long offset, byte value)
        {
            Chip.Access(this, true, false, offset, 1, value);
        }

        [ConnectionRegion("NonSecure")]
        public void WriteWordNonSecure(long offset, ushort value)
        {
            Chip.Access(this, true, false, offset, 2, value);
        }

        [ConnectionRegion("NonSecure")]
        public void WriteDoubleWordNonSecure(long offset, uint value)
        {
            Chip.Access(this, true, false, offset, 4, value);
        }

        public long Size { get { return Block.Size; } }

        public GPIO IRQ { get; private set; }

        // -- as the models and the chip see it ---------------------------------------------------

        public Chip Chip { get; private set; }

        public Block Block { get; private set; }

        public string Name { get; private set; }

        public long? Irq { get; private set; }

        public Registers Regs { get; private set; }

        public long Read(long offset)
        {
            Func<long> reader;
            if(readers.TryGetValue(offset, out reader))
            {
                return reader();
            }
            if(!resets.ContainsKey(offset))
            {
                Chip.Unmodelled($"{Name}+0x{offset:x}", "read");
            }
            return Regs[offset];
        }

        public void Write(long offset, long value)
        {
            Action<long> writer;
            if(writers.TryGetValue(offset, out writer))
            {
                writer(value);
                return;
            }
            if(!resets.ContainsKey(offset))
            {
                Undeclared(offset, value);
            }
            Regs[offset] = value;
        }

        // The tick until which reads of a register give the same, unless an event of the chip comes
        // before; 0 if that is not known.
        public virtual long ConstantUntil(long offset)
        {
            return resets.ContainsKey(offset) && !readers.ContainsKey(offset) ? Chip.Never : 0;
        }

        public virtual void Reset()
        {
            Regs.Clear();
            foreach(var register in resets)
            {
                Regs[register.Key] = register.Value;
            }
        }

        // As after power-on: also what a reset keeps.
        public virtual void PowerOn()
        {
            Regs.Clear();
            Reset();
        }

        // Finds other devices; called once, when all of the chip exist.
        public virtual void Connect(IDictionary<string, Device> devices)
        {
        }

        // Handles a scheduled event that is due.
        public virtual void Fire(string tag)
        {
            throw new InvalidOperationException($"{Name} scheduled no event {tag}");
        }

        // Whether a run waits for a scheduled event though no interrupt may follow.
        public virtual bool Awaits(string tag)
        {
            return false;
        }

        // Whether firmware has enabled an interrupt of it.
        public virtual bool CanInterrupt { get { return Irq.HasValue; } }

        // The name of the register that contains the byte at an offset.
        public virtual string RegisterName(long offset)
        {
            string name;
            return names.TryGetValue(offset & ~3L, out name) ? name : $"0x{offset & ~3L:x}";
        }

        // -- declarations ------------------------------------------------------------------------

        protected abstract void Declare();

        // Registers that follow from what a model declares.
        protected virtual void DeclareCommon()
        {
        }

        protected void Register(long offset, string name, long reset = 0, string access = "rw",
            Func<long> read = null, Action<long> write = null)
        {
            names[offset] = name;
            resets[offset] = reset;
            if(read != null || !access.Contains("r"))
            {
                readers[offset] = read ?? (() => 0);
            }
            if(write != null || !access.Contains("w"))
            {
                writers[offset] = write ?? (value => {});
            }
        }

        protected void Registers(long offset, string name, long count, long stride = 4, long reset = 0,
            string access = "rw", Func<long, long> read = null, Action<long, long> write = null)
        {
            for(long i = 0; i < count; i++)
            {
                long index = i;
                Func<long> reader = read == null ? (Func<long>)null : () => read(index);
                Action<long> writer = write == null ? (Action<long>)null : value => write(index, value);
                Register(offset + i * stride, $"{name}[{i}]", reset, access, reader, writer);
            }
        }

        protected readonly Dictionary<long, long> resets = new Dictionary<long, long>();
        protected readonly Dictionary<long, string> names = new Dictionary<long, string>();
        protected readonly Dictionary<long, Func<long>> readers = new Dictionary<long, Func<long>>();
        protected readonly Dictionary<long, Action<long>> writers = new Dictionary<long, Action<long>>();

        // A write to an undeclared register; those below SUBSCRIBE are tasks.
        private void Undeclared(long offset, long value)
        {
            if(offset < Nordic.SubscribeAt && (value & 1) != 0)
            {
                string name = Block.Task(offset);
                Chip.Report("unmodelled_task", name, Texts.UnmodelledTask(name));
            }
            else
            {
                Chip.Unmodelled($"{Name}+0x{offset:x}", "written");
            }
        }
    }

    // A peripheral with tasks and events.
    public abstract class Nordic : Device
    {
        protected Nordic(Chip chip, string block) : base(chip, block)
        {
        }

        public override void Reset()
        {
            base.Reset();
            Subscriptions.Clear();
            Chip.Rewired();
            Regs.Level = false;
            IRQ.Set(false);
        }

        public override bool CanInterrupt
        {
            get { return Irq.HasValue && Interrupts && Regs[Inten] != 0; }
        }

        // -- tasks

        public void Execute(long offset)
        {
            if(Chip.Nested == MostNested)
            {
                Chip.Report("unmodelled_task", $"{Name} DPPI", Texts.Endless(Name));
                return;
            }
            Chip.Nested++;
            tasks[offset]();
            Chip.Nested--;
        }

        public void TriggerSubscribers(long channel)
        {
            List<long> subscribed;
            if(Subscriptions.TryGetValue(channel, out subscribed))
            {
                foreach(long offset in subscribed.ToArray())
                {
                    Execute(offset);
                }
            }
        }

        // -- events

        // The DPPI channels on which it publishes events.
        public IEnumerable<long> PublishedOn
        {
            get
            {
                var published = events.Values.Select(offset => Regs[offset + PublishAt]);
                return published.Where(value => (value & EnableBit) != 0).Select(value => value & 0xFF);
            }
        }

        // Sets an event, then drives interrupt, shortcuts and DPPI.
        public void Event(string name)
        {
            long offset = events[name];
            if(!Regs.RaiseEvent(offset))
            {
                return;
            }
            UpdateLine();
            long enabled = Regs[Shorts];
            foreach(var one in shortcuts.Where(one => one.Event == name && (enabled >> one.Bit & 1) != 0))
            {
                Execute(taskOffsets[one.Task]);
            }
            long published = Regs[offset + PublishAt];
            if((published & EnableBit) != 0)
            {
                Chip.Publish(published & 0xFF, this);
            }
        }

        public void WriteEvent(long offset, long value)
        {
            Regs[offset] = value & 1;
            UpdateLine();
        }

        public long Raised()
        {
            return events.Values.Where(offset => Regs[offset] != 0).Sum(BitOf);
        }

        // Drives the interrupt line from the events and INTEN.
        public void UpdateLine()
        {
            if(Irq.HasValue && Interrupts)
            {
                long enabled = Regs[Inten];
                bool level = enabled != 0 && (enabled & Raised()) != 0;
                if(level != Regs.Level)
                {
                    Regs.Level = level;
                    IRQ.Set(level);
                }
            }
        }

        // Channel -> offsets of the tasks that are subscribed to it.
        public Dictionary<long, List<long>> Subscriptions { get; } = new Dictionary<long, List<long>>();

        // Tasks that events may execute one within another; a chain without end is not modelled.
        public const int MostNested = 64;

        public const long SubscribeAt = 0x080, PublishAt = 0x080, FirstEvent = 0x100;
        public const long Shorts = 0x200, Inten = 0x300, Intenset = 0x304, Intenclr = 0x308, Intpend = 0x30C;
        public const long EnableBit = 1L << 31;

        // -- declarations

        protected void Task(long offset, string name, Action run)
        {
            tasks[offset] = run;
            taskOffsets[name] = offset;
            Register(offset, $"TASKS_{name}", 0, "w", null, value =>
            {
                if((value & 1) != 0)
                {
                    Execute(offset);
                }
            });
            Register(offset + SubscribeAt, $"SUBSCRIBE_{name}", write: value => WriteSubscribe(offset, value));
        }

        protected void Event(long offset, string name, Func<long> read = null, Action<long> write = null)
        {
            events[name] = offset;
            Register(offset, $"EVENTS_{name}", 0, "rw", read, write ?? (value => WriteEvent(offset, value)));
            if(!resets.ContainsKey(offset + PublishAt))
            {
                Register(offset + PublishAt, $"PUBLISH_{name}");
            }
        }

        protected void Publish(long eventOffset, Action<long> write)
        {
            Register(eventOffset + PublishAt, $"0x{eventOffset + PublishAt:x}", write: write);
        }

        protected void Short(int bit, string name, string task)
        {
            resets[Shorts] = 0;
            names[Shorts] = "SHORTS";
            shortcuts.Add(new Shortcut { Bit = bit, Event = name, Task = task });
        }

        protected virtual bool Interrupts { get { return true; } }

        protected virtual void WriteInten(long value)
        {
            Regs[Inten] = value & 0xFFFFFFFF;
            UpdateLine();
        }

        protected override void DeclareCommon()
        {
            if(Interrupts)
            {
                Func<long> enabled = () => Regs[Inten];
                Register(Inten, "INTEN", write: value => WriteInten(value));
                Register(Intenset, "INTENSET", read: enabled, write: bits => WriteInten(Regs[Inten] | bits));
                Register(Intenclr, "INTENCLR", read: enabled, write: bits => WriteInten(Regs[Inten] & ~bits));
                Register(Intpend, "INTPEND", access: "r", read: () => Regs[Inten] & Raised());
            }
        }

        private void WriteSubscribe(long offset, long value)
        {
            foreach(var subscribed in Subscriptions.Values)
            {
                subscribed.Remove(offset);
            }
            Regs[offset + SubscribeAt] = value;
            if((value & EnableBit) != 0)
            {
                long channel = value & 0xFF;
                if(!Subscriptions.ContainsKey(channel))
                {
                    Subscriptions[channel] = new List<long>();
                }
                Subscriptions[channel].Add(offset);
            }
            Chip.Rewired();
        }

        private static long BitOf(long eventOffset)
        {
            return 1L << (int)(eventOffset - FirstEvent) / 4;
        }

        private readonly Dictionary<long, Action> tasks = new Dictionary<long, Action>();
        private readonly Dictionary<string, long> taskOffsets = new Dictionary<string, long>();
        private readonly Dictionary<string, long> events = new Dictionary<string, long>();
        private readonly List<Shortcut> shortcuts = new List<Shortcut>();

        private struct Shortcut
        {
            public int Bit;
            public string Event;
            public string Task;
        }
    }
}
