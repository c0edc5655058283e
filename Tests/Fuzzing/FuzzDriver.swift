import Foundation

/// The main program of the fuzz targets: runs libFuzzer (https://llvm.org/docs/LibFuzzer.html) with one of
/// ``FuzzTarget/all``. Usage: `receipt-bridge-fuzz NAME [libFuzzer's own arguments]`.
///
/// It is only built by `make fuzz`, with AddressSanitizer, and is not part of an ordinary build.
@main
enum FuzzDriver {
    static func main() {
        guard CommandLine.arguments.count > 1, FuzzTarget.chosen != nil else {
            FileHandle.standardError.write(
                Data("usage: receipt-bridge-fuzz TARGET [libFuzzer's arguments]; targets:\n".utf8))
            print(FuzzTarget.all.map(\.name).joined(separator: "\n"))
            exit(2)
        }
        // The arguments of libFuzzer begin with the target's name instead of the program's name.
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?> = CommandLine.unsafeArgv.advanced(by: 1)
        exit(
            runDriver(&count, &arguments) { bytes, count in
                FuzzTarget.chosen?.body([UInt8](UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            })
    }
}

@_extern(c, "LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
