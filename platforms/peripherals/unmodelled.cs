// A block without a model, for Renode 1.17 or later: reads give 0 and writes are lost. Each access is
// logged with the block's name and the register's offset.

using Antmicro.Renode.Logging;
using Antmicro.Renode.Peripherals.Bus;

namespace Antmicro.Renode.Peripherals.Miscellaneous
{
    [AllowedTranslations(AllowedTranslation.ByteToDoubleWord | AllowedTranslation.WordToDoubleWord)]
    public class Unmodelled : IDoubleWordPeripheral, IKnownSize
    {
        public Unmodelled(long size = 0x1000)
        {
            Size = size;
        }

        public void Reset()
        {
        }

        public uint ReadDoubleWord(long offset)
        {
            this.Log(LogLevel.Warning, "Unhandled read from offset 0x{0:X}.", offset);
            return 0;
        }

        public void WriteDoubleWord(long offset, uint value)
        {
            this.Log(LogLevel.Warning, "Unhandled write to offset 0x{0:X}.", offset);
        }

        public long Size { get; }
    }
}
