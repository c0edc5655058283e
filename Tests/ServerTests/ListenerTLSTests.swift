import ReceiptBridgeAdministration
import ReceiptBridgeBase
import ReceiptBridgeCore
import ReceiptBridgeCryptography
import Foundation
import ReceiptBridgeHTTPTestServer
import ReceiptBridgeSimulator
import Testing
import ReceiptBridgeTestSupport
import ReceiptBridgeTransport

@Suite("A listener with TLS")
struct ListenerTLSTests {
    private static let sharedPair = Result { try ListenerPair() }

    /// Runs the work against a proxy with that certificate. The folder contains the CA's certificate.
    private func serving(
        _ pair: ListenerPair? = nil, _ change: (inout ProxyConfiguration) -> Void = { _ in },
        _ work: (Proxy, SecureClient) async throws -> Void
    ) async throws {
        let pair = try pair ?? Self.sharedPair.get()
        let certificate = TLSFiles(certificates: pair.chainPEM, privateKey: pair.keyPEM)
        try await Proxy.serving { settings, _ in
            settings.tls = certificate
            change(&settings)
        } _: { proxy in
            let client = try SecureClient(port: proxy.port, trusting: pair)
            try await finally(client.leave) { try await work(proxy, client) }
        }
    }

    /// The last client may have been served before it is counted.
    private func expectHandshakes(_ expected: [String: Double], by proxy: Proxy) async throws {
        let labels = Dictionary(uniqueKeysWithValues: expected.map { (#"\#($0)"}"#, $1) })
        #expect(try await proxy.samples(#"receipt_bridge_tls_handshakes_total{outcome=""#, until: labels) == labels)
    }

    // MARK: - Answers

    @Test("Clients that trust the P-256 or RSA certificate get responses, many per handshake")
    func answers() async throws {
        for pair in [try Self.sharedPair.get(), try ListenerPair(key: .rsa(bits: 2048))] {
            try await serving(pair) { proxy, client in
                for _ in 0..<3 {
                    #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
                }
                try await expectHandshakes(["completed": 1], by: proxy)
                let end = try await proxy.metrics()["receipt_bridge_tls_certificate_not_after_seconds"]
                #expect(end == Double(Validity.wide.to.seconds))
                // The operations listener speaks plain HTTP nevertheless.
                #expect(try await proxy.operations("/healthz").status == 200)
            }
        }
    }

    @Test("A client that does not trust the CA rejects the certificate")
    func untrusted() async throws {
        try await serving { proxy, _ in
            let stranger = try SecureClient(port: proxy.port, trusting: ListenerPair())
            #expect(try await stranger.post("/verifyReceipt", try proxy.question()) == .failure(.tlsFailed))
            await stranger.leave()
            try await expectHandshakes(["failed": 1], by: proxy)
        }
    }

    @Test("Bodies up to the limit are read, and the client of a longer body receives the 413")
    func bodies() async throws {
        try await serving { (proxy: Proxy, client: SecureClient) async throws -> Void in
            let most = 3_145_728
            #expect(try await client.post("/verifyReceipt", [UInt8](repeating: 0x20, count: most)) == .verdict(21002))
            #expect(try await client.post("/verifyReceipt", [UInt8](repeating: 0x20, count: most + 1)) == .status(413))
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
        }
    }

    // MARK: - Versions

    // T31
    @Test("TLS 1.2 is accepted with HTTP/1.1 only, and TLS 1.1 is rejected with protocol_version")
    func versions() async throws {
        try await serving { proxy, client in
            let new = try proxy.connect()
            try await new.send(ClientHello.record(version: 0x0303, protocols: ["h2", "http/1.1"]))
            let hello = try await new.next()
            // A handshake record of TLS 1.2 with a ServerHello, and ALPN in it.
            #expect(Array(hello.prefix(3)) == [22, 3, 3] && hello.dropFirst(5).first == 2)
            let chosen: [UInt8] = [0x00, 0x10, 0x00, 0x0B, 0x00, 0x09, 0x08] + Array("http/1.1".utf8)
            #expect(hello.firstRange(of: chosen) != nil)
            new.leave()
            for version: UInt16 in [0x0302, 0x0301, 0x0300] {
                let old = try proxy.connect()
                try await old.send(ClientHello.record(version: version))
                let rest = try await old.remainder()
                // A record of two bytes: fatal, protocol_version.
                #expect(rest.first == 21 && Array(rest.suffix(4)) == [0, 2, 2, 70], "\(rest)")
            }
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
        }
    }

    // T31
    @Test("TLS 1.2 uses only ephemeral keys, also with clients that only support CBC")
    func ciphers() async throws {
        func agreed(_ cipher: UInt16, _ proxy: Proxy) async throws -> Bool {
            let connection = try proxy.connect()
            try await connection.send(ClientHello.record(version: 0x0303, ciphers: [cipher]))
            let answer = try await connection.next()
            // A handshake record, or one of two bytes: fatal, handshake_failure.
            #expect(answer.first == 22 || answer == [21, 3, 3, 0, 2, 2, 40], "\(cipher): \(answer.prefix(20))")
            return answer.first == 22
        }
        try await serving(try ListenerPair(key: .rsa(bits: 2048))) {
            (proxy: Proxy, _: SecureClient) async throws -> Void in
            // ECDHE-RSA with AES128-GCM, AES256-GCM, CHACHA20 and AES128-SHA.
            for cipher: UInt16 in [0xC02F, 0xC030, 0xCCA8, 0xC013] { #expect(try await agreed(cipher, proxy)) }
            // AES128-GCM, AES256-GCM, AES128-SHA and AES256-SHA with RSA key exchange; ECDHE-RSA with AES256-SHA.
            for cipher: UInt16 in [0x009C, 0x009D, 0x002F, 0x0035, 0xC014] {
                #expect(try await agreed(cipher, proxy) == false)
            }
        }
        try await serving { (proxy: Proxy, _: SecureClient) async throws -> Void in
            for cipher: UInt16 in [0xC02B, 0xC02C, 0xCCA9, 0xC009] { #expect(try await agreed(cipher, proxy)) }
        }
    }

    // T31
    @Test("Plain HTTP gets 400 and a sentence, garbage closes the connection, and other clients are served")
    func noTLS() async throws {
        try await serving { proxy, client in
            for request in [
                RawConnection.post("/verifyReceipt", try proxy.question()), Array("GET / HTTP/1.1\r\n\r\n".utf8),
            ] {
                let connection = try proxy.connect()
                try await connection.send(request)
                let answer = try #require(try await connection.answer())
                #expect(
                    answer.status == 400
                        && answer.text == "This port expects HTTPS: the address must begin with https://\n")
                #expect(try await connection.isAtEnd())
            }
            for bytes in [
                [0], [22, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 70_000),
                Array(ClientHello.record(version: 0x0303).dropLast(9)) + [UInt8](repeating: 0xFF, count: 9),
            ] {
                let connection = try proxy.connect()
                try? await connection.send(bytes)
                connection.closeSending()
                let rest = (try? await connection.remainder()) ?? []
                #expect(!String(decoding: rest, as: UTF8.self).contains("HTTP/1.1"), "\(bytes.prefix(20))")
            }
            try await expectHandshakes(["failed": 5], by: proxy)
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
            #expect(proxy.store.requests.total == 1)
        }
    }

    // MARK: - Limits

    // T20
    @Test("A handshake that exceeds the head timeout is closed; other connections are not")
    func slowHandshake() async throws {
        try await serving(nil) { settings in
            settings.limits.headSeconds = 1
        } _: { proxy, client in
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
            let start = ContinuousClock.now
            let hello = ClientHello.record(version: 0x0303)
            let (silent, half, waiting, dripping) = (
                try proxy.connect(), try proxy.connect(), try proxy.connect(), try proxy.connect()
            )
            try await half.send(Array(hello.prefix(20)))
            try await waiting.send(hello)
            async let drips: Void = drip(hello, into: dripping)
            for connection in [silent, half, waiting, dripping] {
                _ = try? await connection.remainder()
                let duration = ContinuousClock.now - start
                #expect(duration >= .milliseconds(900) && duration < .seconds(60), "\(duration)")
            }
            await drips
            try await expectHandshakes(["completed": 1, "late": 4], by: proxy)
            // Idle for the whole time, on the same connection.
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
            try await expectHandshakes(["completed": 1, "late": 4], by: proxy)
        }
    }

    /// Sends a byte now and then, until the connection is closed.
    private func drip(_ bytes: [UInt8], into connection: RawConnection) async {
        for byte in bytes {
            guard (try? await connection.send([byte])) != nil else { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    // T20
    @Test("A stalled body is cut off; a connection over a client's limit is closed without a handshake and released")
    func otherLimits() async throws {
        try await serving(nil) { settings in
            settings.limits.headSeconds = 1
            settings.limits.requestSeconds = 1
            settings.limits.connectionsPerClient = 2
        } _: { proxy, client in
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .verdict(0))
            let waiting = try proxy.connect()
            try await waiting.send(ClientHello.record(version: 0x0303))
            #expect(try await waiting.next().isEmpty == false)
            // The third connection has no handshake, and releases its resources.
            let third = try proxy.connect()
            try? await third.send(ClientHello.record(version: 0x0303))
            #expect((try? await third.remainder()) ?? [] == [])
            let connections = #"receipt_bridge_http_connections{listener="public"}"#
            #expect(await eventually { (try? await proxy.metric(connections)) == 2 })
            _ = try? await waiting.remainder()
            try await expectHandshakes(["completed": 1, "late": 1], by: proxy)
            #expect(await eventually { (try? await proxy.metric(connections)) == 1 })
            // 400,000 bytes at 40,000 per second.
            let start = ContinuousClock.now
            let exit = try await client.curl(
                "--limit-rate", "40000", "--max-time", "60", "--data-binary", "@-",
                input: [UInt8](repeating: 0x20, count: 400_000))
            let duration = ContinuousClock.now - start
            #expect(exit != 0 && exit != 28)
            #expect(duration >= .milliseconds(900) && duration < .seconds(60), "\(duration)")
        }
    }

    // MARK: - The end

    @Test("The upstream request is canceled if the client disconnects")
    func clientLeaves() async throws {
        let apple = try TestServer(reply: .never)
        try await serving(nil) { settings in
            settings.deadline = .seconds(600)
            settings.verifyReceipt.production = apple.url("/verifyReceipt")
        } _: { proxy, client in
            defer { apple.stop() }
            let exit = try await client.curl(
                "--max-time", "600", "--data-binary", "@-", input: try proxy.question(),
                until: { _ = await eventually { apple.counts.requests == 1 } })
            #expect(exit == SIGKILL)
            #expect(await eventually { apple.counts.abandoned == 1 })
            // The request has ended, so there is no second upstream request.
            #expect(await eventually { (try? await proxy.endedRequests()) == 1 })
            #expect(apple.counts.requests == 1)
        }
    }

    @Test("Shutdown completes open requests and then closes idle connections")
    func gracefulStop() async throws {
        try await serving { proxy, client in
            proxy.store.faults.add(SimulatedFault(.delay, milliseconds: 500))
            let body = try proxy.question()
            try await withThrowingTaskGroup(of: SecureClient.Outcome.self) { group in
                for _ in 0..<8 { group.addTask { try await client.post("/verifyReceipt", body) } }
                #expect(await eventually { proxy.store.requests.total == 8 })
                await proxy.beginStop()
                for try await outcome in group { #expect(outcome == .verdict(0)) }
            }
            #expect(await eventually { (try? proxy.connect()) == nil })
        }
    }

    // MARK: - Seeing

    @Test("An expired certificate is served and reported in the log, on the status page and by the doctor")
    func over() async throws {
        let pair = try ListenerPair(validity: .past)
        try await serving(pair) { proxy, client in
            #expect(try await client.post("/verifyReceipt", try proxy.question()) == .failure(.tlsFailed))
            #expect(try await client.curl("--insecure", "--fail", "--data-binary", "{}") == 0)
            #expect(
                proxy.log.all.contains {
                    $0.hasPrefix(
                        "warning TLS certificate of the listener has expired or is not yet valid; clients will reject it"
                    )
                        && $0.contains("2014-06-14T00:00:00Z")
                }, "\(proxy.log.all.filter { $0.hasPrefix("warning") })")
            let page = try await proxy.operations("/").text
            #expect(page.contains("The TLS certificate of the listener has expired; clients reject it."), "\(page)")
        }
    }

    private static let checks: [(what: String, host: String?, days: ClosedRange<Int64>, isWhole: Bool, row: String)] =
        [
            ("good", "a.example", -10...20, true, "pass a.example, 127.0.0.1, 2026-11-11 to 2026-12-11"),
            (
                "near its end", "a.example", -10...13, true,
                "warn a.example, 127.0.0.1, 2026-11-11 to 2026-12-04: 13 days left"
            ),
            (
                "over", "a.example", -10 ... -1, true,
                "fail a.example, 127.0.0.1, 2026-11-11 to 2026-11-20: expired; clients reject it"
            ),
            (
                "early", "a.example", 1...20, true,
                "fail a.example, 127.0.0.1, 2026-11-22 to 2026-12-11: not valid yet; clients reject it"
            ),
            ("nameless", nil, -10...20, true, "fail for no name, 2026-11-11 to 2026-12-11; clients reject it"),
            (
                "alone", "a.example", -10...20, false,
                "warn a.example, 127.0.0.1, 2026-11-11 to 2026-12-11: without the certificate of its issuer"
            ),
        ]

    @Test("The doctor reports names, validity and chain of the certificate", arguments: checks)
    func doctor(_ sample: (what: String, host: String?, days: ClosedRange<Int64>, isWhole: Bool, row: String))
        async throws
    {
        let noon = SharedSimulator.noon.seconds
        let pair = try ListenerPair(
            host: sample.host,
            validity: Validity(
                from: Timestamp(seconds: noon + sample.days.lowerBound * 86_400),
                to: Timestamp(seconds: noon + sample.days.upperBound * 86_400)))
        var settings = ProxyConfiguration()
        settings.tls = TLSFiles(
            certificates: sample.isWhole ? pair.chainPEM : pair.certificatePEM, privateKey: pair.keyPEM)
        let doctor = Doctor(settings: settings, transport: nil, environment: [:], now: { SharedSimulator.noon })
        let row = try #require(await doctor.checks().first { $0.check == "tls.certificate" })
        #expect("\(row.verdict.rawValue) \(row.detail)" == sample.row)
        #expect((row.advice == nil) == (row.verdict == .pass))
    }
}
