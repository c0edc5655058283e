import ArgumentParser
import Foundation
import Pipeline
import Server
import Simulator
import StoreTypes

/// The `simulate` command: a simulated App Store on this machine.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "A stand-in App Store: verifyReceipt and the Server API for both environments, signed by test roots.",
        discussion: """
            Customers, purchases and receipts follow from --seed and --clock; keys and signatures are new in each state \
            directory. With --state, DIR/receipt-bridge.yaml points a proxy at it. Tests can ask for faults with \
            POST /faults and see what was asked with GET /requests. POST /events lets things happen to the customers, \
            and --notify tells a server of them as App Store Server Notifications would.

            Example:
              receipt-bridge simulate --state store --customers 60 --seed 7
            """)

    @Option(help: ArgumentHelp("HOST:PORT, IPv6 as [::1]:PORT; port 0 takes a free one.", valueName: "host:port"))
    var listen = "127.0.0.1:8090"

    @Option(help: ArgumentHelp("Which world: the same number gives the same customers.", valueName: "number"))
    var seed: UInt64 = 1

    @Option(help: ArgumentHelp("How many customers.", valueName: "number"))
    var customers = 20

    @Option(
        help: ArgumentHelp(
            "An instant like 2026-11-21T12:00:00Z at which time stands still (default: real time).",
            valueName: "instant"))
    var clock: String?

    @Option(
        help: ArgumentHelp(
            "A directory for certificates, keys, receipts and a proxy's configuration.", valueName: "dir"),
        completion: .directory)
    var state: String?

    @Option(
        help: ArgumentHelp(
            "Where to send notifications: http:// to this machine, version 2, both environments.", valueName: "url"))
    var notify: String?

    @Option(
        help: ArgumentHelp(
            "How much faster than Apple's are the pauses before a notification is sent again.", valueName: "factor"))
    var notifySpeed = 1.0

    @Flag(help: "Some customers ordered the app before it was out.")
    var preOrders = false

    @Flag(help: "verifyReceipt tells upgrades as cancellations too, as some answers of 2020 did.")
    var cancelledUpgrades = false

    @Option(help: .hidden)
    var writeReceipts: String?

    func validate() throws {
        guard (1...900_000).contains(customers) else { throw ValidationError("--customers: 1 to 900000") }
        _ = try address()
        _ = try simulatedClock()
        _ = try target()
        guard notifySpeed > 0 else { throw ValidationError("--notify-speed: more than 0") }
    }

    func run() async throws {
        if let writeReceipts {
            try ReceiptsFolder(writeReceipts).write()
            try await SampleAnswers(writeReceipts).write()
            return
        }
        FileDescriptorLimit.raiseLimit()
        let (host, port) = try address()
        let clock = try simulatedClock()
        switch PortProbe.bind(ProxyConfiguration.Address(host: host, port: port)) {
        case .free: break
        case .taken: throw ValidationError("--listen: \(listen) is already in use")
        case .unusable(let reason): throw ValidationError("--listen: \(listen) cannot be used: \(reason)")
        }
        let directory = try state.map { path in
            do {
                return try StateDirectory(path)
            } catch {
                throw ValidationError("--state: \(path) cannot be made, or written into")
            }
        }
        let options = WorldOptions(preOrders: preOrders, upgradesAreCancelled: cancelledUpgrades)
        let store =
            try directory?.open(seed: seed, customers: customers, clock: clock, options: options)
            ?? SimulatedStore(seed: seed, customers: customers, clock: clock, options: options)
        if let target = try target() { store.outbox.targets.set(target) }
        store.outbox.setSpeed(notifySpeed)
        // All files are complete before the port answers, except the configuration if the system chooses the port.
        try directory?.write(store)
        if port > 0 { try directory?.writeConfiguration(store, host: host, port: port) }
        try await store.run(host: host, port: port, stopsOnSignals: true) { bound in
            if port == 0 { try directory?.writeConfiguration(store, host: host, port: bound) }
            let url = SimulatedConfiguration.baseURL(host: host, port: bound)
            FileHandle.standardError.write(Data("simulated App Store at \(url)\n".utf8))
        }
    }

    private func address() throws -> (host: String, port: Int) {
        guard let colon = listen.lastIndex(of: ":"), let port = UInt16(listen[listen.index(after: colon)...]) else {
            throw ValidationError("--listen: HOST:PORT wanted, not \(listen)")
        }
        let host = listen[..<colon]
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : String(host)
        guard !bare.isEmpty else { throw ValidationError("--listen: HOST:PORT wanted, not \(listen)") }
        return (bare, Int(port))
    }

    private func target() throws -> NotificationTarget? {
        guard let notify else { return nil }
        guard let url = LoopbackURL(notify) else {
            throw ValidationError("--notify: http:// to this machine wanted, not \(notify)")
        }
        return NotificationTarget(url: url)
    }

    private func simulatedClock() throws -> SimulatedClock {
        guard let clock else { return .real }
        guard let instant = Timestamp(iso8601: clock) else {
            throw ValidationError("--clock: an instant like 2026-11-21T12:00:00Z wanted, not \(clock)")
        }
        return .fixed(instant)
    }
}
