// What Renode needs of single models besides models.cs: the terminal of a UARTE, the pins of a port,
// flash behind NVMC, and the SPU's attribution in the core.

using System;
using System.Collections.Generic;
using System.Collections.ObjectModel;
using System.Linq;

using Antmicro.Renode.Core;
using Antmicro.Renode.Core.Structure;
using Antmicro.Renode.Peripherals.Bus;
using Antmicro.Renode.Peripherals.CPU;
using Antmicro.Renode.Peripherals.Memory;
using Antmicro.Renode.Peripherals.UART;

namespace Antmicro.Renode.Peripherals.Nordic
{
    // A terminal hears what the board's wiring lets it hear; without wiring it hears all.
    public partial class Uarte : IUART
    {
        public event Action<byte> CharReceived;

        public uint BaudRate { get { return (uint)Baud; } }

        public Bits StopBits { get { return Bits.One; } }

        public UART.Parity ParityBit { get { return UART.Parity.None; } }

        // What is at the other end of the port's pins; -1 for a line that the board leaves open.
        public void Wire(int txd, int rxd, int rts, int cts, int baud, bool parity, int stopBits,
            bool flowControl, string board)
        {
            Wire(new ConsoleWiring
            {
                Uarte = Name,
                Pins = new UartPins { Txd = txd, Rxd = Pin(rxd), Rts = Pin(rts), Cts = Pin(cts) },
                Baud = baud,
                Parity = parity,
                StopBits = stopBits,
                FlowControl = flowControl,
                Board = board,
            });
        }

        // A terminal hears all.
        public void Unwire()
        {
            Wire(null);
        }

        public override void Connect(IDictionary<string, Device> devices)
        {
            Wire(Wiring);
        }

        public override void PowerOn()
        {
            Regs.StopSending(true);
            Regs.TakeSent();
            Incoming.Clear();
            base.PowerOn();
        }

        // A byte that is typed in a terminal.
        public void WriteChar(byte value)
        {
            Chip.Later(() => Receive(new[] { value }));
        }

        // Bytes of the host, while the machine does not run.
        public void Receive(byte[] data)
        {
            Chip.Synchronize();
            Feed(data);
            Chip.Arm();
        }

        private void Wire(ConsoleWiring wiring)
        {
            ConnectSink(Print, wiring);
        }

        private void Print(byte[] data)
        {
            foreach(byte one in data)
            {
                CharReceived?.Invoke(one);
            }
        }

        private static long? Pin(int number)
        {
            return number < 0 ? (long?)null : number;
        }
    }

    public partial class Rtc
    {
        // The counter stands until its next count, or if nobody started its clock.
        public override long ConstantUntil(long offset)
        {
            return offset != CounterValue ? base.ConstantUntil(offset)
                : Running ? Regs.NextCount(Chip.Now) : Chip.Never;
        }

        private const long CounterValue = 0x504;
    }

    // Pins drive what is connected to them in a platform description, and are driven by it.
    public partial class Gpio : INumberedGPIOOutput, IGPIOReceiver,
        IRegisterablePeripheral<IGPIOReceiver, NumberRegistrationPoint<int>>,
        IRegisterablePeripheral<IGPIOSender, NumberRegistrationPoint<int>>
    {
        public IReadOnlyDictionary<int, IGPIO> Connections { get; } =
            new ReadOnlyDictionary<int, IGPIO>(Enumerable.Range(0, 32).ToDictionary(n => n, n => (IGPIO)new GPIO()));

        // Pins that buttons pull to ground, one bit each: a button that is released drives nothing.
        public uint PulledToGround { get; set; }

        // Renode's buttons show both of their levels in a reset, which no finger does.
        public void OnGPIO(int number, bool value)
        {
            if(Chip.IsInReset)
            {
                return;
            }
            bool released = value && (PulledToGround >> number & 1) != 0;
            Chip.Later(() => DriveFromOutside(number, released ? (bool?)null : value));
        }

        // Drives a pin while the machine does not run; null releases it.
        public void DriveFromOutside(int number, bool? level)
        {
            Chip.Synchronize();
            Drive(number, level);
            Chip.Arm();
        }

        public override void Connect(IDictionary<string, Device> devices)
        {
            Listeners.Add(ShowOutside);
        }

        public override void Reset()
        {
            base.Reset();
            ShowOutside(~Pads, Pads);
        }

        public override void PowerOn()
        {
            Driven = Levels = 0;
            base.PowerOn();
        }

        public void Register(IGPIOReceiver peripheral, NumberRegistrationPoint<int> registrationPoint)
        {
            Chip.Machine.RegisterAsAChildOf(this, peripheral, registrationPoint);
        }

        public void Unregister(IGPIOReceiver peripheral)
        {
            Chip.Machine.UnregisterAsAChildOf(this, peripheral);
        }

        public void Register(IGPIOSender peripheral, NumberRegistrationPoint<int> registrationPoint)
        {
            Chip.Machine.RegisterAsAChildOf(this, peripheral, registrationPoint);
        }

        public void Unregister(IGPIOSender peripheral)
        {
            Chip.Machine.UnregisterAsAChildOf(this, peripheral);
        }

        private void ShowOutside(long before, long after)
        {
            for(int pin = 0; pin < 32; pin++)
            {
                if(((before ^ after) >> pin & 1) != 0)
                {
                    Connections[pin].Set((after >> pin & 1) != 0);
                }
            }
        }
    }

    // Stores of the core to flash and UICR become those of the controller. Renode asks only for pages
    // that it reaches by the bus: GuardErased() makes those so that hold no data.
    public partial class Nvmc
    {
        public override void Connect(IDictionary<string, Device> devices)
        {
            flash = (MappedMemory)Chip.Machine["sysbus.flash"];
            uicr = (ArrayMemory)Chip.Machine["sysbus.uicr"];
            Guard(flash, Chip.MemoryMap.Area("flash"));
            Guard(uicr, Chip.MemoryMap.Area("uicr"));
            Guard((IBusPeripheral)Chip.Machine["sysbus.ficr"], Chip.MemoryMap.Area("ficr"));
        }

        public override void PowerOn()
        {
            Writes.Clear();
            Partial.Clear();
            PendingStores.Clear();
            base.PowerOn();
        }

        // Lets the controller see stores to the erased pages of flash, and to "others", which are slow
        // to read. What flash holds now is what ChangedPages() compares with.
        public void GuardErased()
        {
            Guard(new ulong[0]);
        }

        public void Guard(ulong[] others)
        {
            Chip.Synchronize();
            loaded = flash.ReadBytes(0, (int)flash.Size);
            foreach(ulong page in guarded)
            {
                Chip.Core.ClearPageAccessViaIo(page + Origin);
            }
            guarded.Clear();
            unguarded.Clear();
            for(ulong page = 0; page < (ulong)flash.Size; page += GuardedPage)
            {
                (others.Contains(page) || IsErased(page) ? guarded : unguarded).Add(page);
            }
            GuardAgain();
        }

        // A reset of the core has lifted the guard.
        public void GuardAgain()
        {
            foreach(ulong page in guarded)
            {
                Chip.Core.SetPageAccessViaIo(page + Origin);
            }
        }

        // Offsets of the pages that firmware has stored to unseen since GuardErased().
        public ulong[] ChangedPages()
        {
            return unguarded.Where(page => !Loaded(page).SequenceEqual(flash.ReadBytes((long)page, (int)GuardedPage)))
                .ToArray();
        }

        // Stores what an operation has left to store.
        public void Mend()
        {
            foreach(var one in PendingStores)
            {
                Fill(one.Item1, one.Item2);
            }
            PendingStores.Clear();
        }

        private void Guard(IBusPeripheral memory, Area area)
        {
            var bus = Chip.Machine.SystemBus;
            bus.SetHookBeforePeripheralWrite<uint>(memory, (value, offset) => (uint)Program(area, offset, 4, value));
            bus.SetHookBeforePeripheralWrite<ushort>(memory, (value, offset) => (ushort)Program(area, offset, 2, value));
            bus.SetHookBeforePeripheralWrite<byte>(memory, (value, offset) => (byte)Program(area, offset, 1, value));
        }

        // What a store of the core to flash or UICR leaves there.
        private long Program(Area area, long offset, int size, long value)
        {
            if(!Chip.Synchronize())
            {
                return value;
            }
            long address = area.Origin + offset;
            long old = Chip.Machine.SystemBus.ReadDoubleWord((ulong)(address & ~3L));
            bool nonsecure = Chip.IsNonSecure || Chip.IsDivided && !Chip.IsSecure(address);
            long mode = ModeOf(nonsecure: nonsecure);
            mode = mode == 0 && Chip.IsAlone ? ModeOf(nonsecure: true) : mode;
            if(area.Name == "ficr" || !Store(area, address, size, value, old, mode))
            {
                throw Chip.Refusal($"0x{address:x8}");
            }
            Mend();
            Chip.Arm();
            Chip.Stall(StalledUntil);
            return Chip.Machine.SystemBus.ReadDoubleWord((ulong)address);
        }

        private void Fill(long address, byte[] data)
        {
            var area = Chip.MemoryMap.Area("flash");
            if(area.Holds(address, data.Length))
            {
                flash.WriteBytes(address - area.Origin, data, 0, data.Length);
            }
            else
            {
                uicr.WriteBytes(address - Chip.MemoryMap.Area("uicr").Origin, data, 0, data.Length);
            }
        }

        private bool IsErased(ulong page)
        {
            return Loaded(page).IndexOfAnyExcept((byte)0xFF) < 0;
        }

        // What a page held when it was guarded, or left unguarded.
        private ReadOnlySpan<byte> Loaded(ulong page)
        {
            return new ReadOnlySpan<byte>(loaded, (int)page, (int)GuardedPage);
        }

        private ulong Origin { get { return (ulong)Chip.MemoryMap.Area("flash").Origin; } }

        private MappedMemory flash;
        private ArrayMemory uicr;
        private byte[] loaded;
        private readonly List<ulong> guarded = new List<ulong>();
        private readonly List<ulong> unguarded = new List<ulong>();

        private const ulong GuardedPage = 0x400;  // of Renode's translation
    }

    // Writes what the SPU attributes to the core's SAU, which has no regions on the chip. Where nothing
    // is, everything is non-secure.
    public class Attribution
    {
        // Sees what firmware writes to SAU_CTRL, unless another hook of the NVIC does.
        public void Watch(IMachine machine)
        {
            machine.SystemBus.SetHookBeforePeripheralWrite<uint>((IBusPeripheral)machine["sysbus.nvic"],
                (value, offset) => Control(value), SauCtrl.By(4));
        }

        // What SAU_CTRL becomes: firmware leaves attribution to the SPU by ALLNS, whose regions are the
        // SAU's here.
        public uint Control(uint value)
        {
            return (value & (Enable | Allns)) == Allns ? (uint)Enable : value;
        }

        // Returns whether memory is divided.
        public bool Apply(CortexM cpu, Spu spu, Table map)
        {
            var found = Regions(spu, map).ToArray();
            if(written == null || !found.SequenceEqual(written))
            {
                written = found;
                for(uint number = 0; number < cpu.NumberOfSAURegions; number++)
                {
                    var region = number < found.Length ? found[number] : new Region();
                    cpu.SAURegionNumber = number;
                    cpu.SAURegionBaseAddress = (uint)region.Begin;
                    cpu.SAURegionLimitAddress = (uint)(region.End - 1 & ~0x1FL | region.Flags);
                }
            }
            return spu.Permissions.Any(permission => (permission & Secattr) == 0);
        }

        // The core forgets its regions in a reset.
        public void Forget()
        {
            written = null;
        }

        public bool IsSecure(Spu spu, Table map, long address)
        {
            long first = 0;
            foreach(string name in Memories)
            {
                var area = map.Area(name);
                long count = map.SpuRegions(name);
                if(area.Holds(address))
                {
                    return (spu.Permissions[first + (address - area.Origin) / (area.Size / count)] & Secattr) != 0;
                }
                first += count;
            }
            return true;
        }

        private static IEnumerable<Region> Regions(Spu spu, Table map)
        {
            long window = map.SecureWindow - map.NonsecureWindow;
            yield return new Region { Begin = map.Area("ram").End, End = map.SecureWindow, Flags = Enable };
            yield return new Region { Begin = map.SecureWindow + window, End = System, Flags = Enable };
            long first = 0;
            foreach(string name in Memories)
            {
                var area = map.Area(name);
                long count = map.SpuRegions(name), size = area.Size / count;
                for(long begin = 0, end; begin < count; begin = end + 1)
                {
                    for(end = begin; end < count && (spu.Permissions[first + end] & Secattr) == 0;)
                    {
                        end++;
                    }
                    if(end > begin)
                    {
                        yield return new Region { Begin = area.Origin + begin * size, End = area.Origin + end * size, Flags = Enable };
                    }
                }
                first += count;
            }
            foreach(var gateway in spu.Gateways)
            {
                if(spu.Chip.IsSecure(gateway.Item1))
                {
                    yield return new Region { Begin = gateway.Item1, End = gateway.Item2, Flags = Enable | Callable };
                }
            }
        }

        private Region[] written;

        private static readonly string[] Memories = { "flash", "ram" };
        private const long Secattr = 0x10, Enable = 1, Callable = 2, Allns = 2;
        private const ulong SauCtrl = 0xDD0;  // of the system control space
        private const long System = 0xE0000000;  // exempt from here on (Armv8-M ARM, B8.1)

        private struct Region
        {
            public long Begin, End, Flags;
        }
    }
}
