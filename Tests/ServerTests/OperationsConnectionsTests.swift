import ReceiptBridgeServer
import Testing
import ReceiptBridgeTestSupport

@Suite("Connections of the operations listener")
struct OperationsConnectionsTests {
    // T20: nobody needs a token to connect.
    @Test("Idle connections that would fill the operations listener do not keep a probe from a response")
    func probes() async throws {
        try await Proxy.serving { proxy in
            var idle: [RawConnection] = []
            for index in 0..<100 {
                let connection = try RawConnection(port: proxy.operationsPort)
                if index % 2 == 1 { try? await connection.send("GET /healthz HTTP/1.1\r\nHo") }
                idle.append(connection)
            }
            let probe = try RawConnection(port: proxy.operationsPort, timeout: 10)
            try await probe.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await probe.answer()?.status == 200)
            for connection in idle { connection.leave() }
        }
    }

    // T20
    @Test("An idle connection is closed ten times sooner than on the public listener")
    func idle() async throws {
        var timeouts = ConnectionTimeouts()
        timeouts.idle = .seconds(5)
        try await Proxy.serving(with: .init(timeouts: timeouts)) { proxy in
            let others = try proxy.connect()
            let connection = try RawConnection(port: proxy.operationsPort, timeout: 10)
            #expect(try await connection.remainder().isEmpty)
            try await others.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await others.answer()?.status == 200)
        }
    }

    /// An upload of which only the first byte is sent.
    private static func beginning(host: String) -> String {
        "POST /v1/receipts HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 100000\r\n\r\n{"
    }

    // T20
    @Test("Uploads that stall are as idle: a probe of the same client and of another one gets its response")
    func stalled() async throws {
        try await Proxy.serving { proxy in
            var uploads: [RawConnection] = []
            for _ in 0..<100 {
                let upload = try RawConnection(port: proxy.operationsPort)
                try? await upload.send(Self.beginning(host: "127.0.0.1"))
                uploads.append(upload)
            }
            for path in ["/healthz", "/readyz"] {
                let probe = try RawConnection(port: proxy.operationsPort, timeout: 10)
                try await probe.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await probe.answer()?.status == 200)
            }
            for upload in uploads { upload.leave() }
        }
    }

    // T20
    @Test("A request that needs a token and has none is refused before its body")
    func refused() async throws {
        try await Proxy.serving { proxy in
            for host in ["example.com", "127.0.0.1\r\nForwarded: for=a"] {
                let upload = try RawConnection(port: proxy.operationsPort, timeout: 10)
                try await upload.send(Self.beginning(host: host))
                #expect(try await upload.answer()?.status == 404)
                upload.leave()
            }
        }
    }

    @Test("When the last place is taken, the connection that is idle for the longest time leaves")
    func oldest() {
        var places = ConnectionPlaces<Int>(.operations(limit: 8))
        for id in 1...7 { #expect(places.open(id, by: id, at: .zero) == nil) }
        #expect(places.begin(1, isProbe: false) && places.begin(2, isProbe: false))
        places.end(2, at: .zero)
        let closed = (8...13).map { places.open($0, by: $0, at: .zero) }
        #expect(closed == [3, 4, 5, 6, 7, 2])
        places.close(9)
        #expect(places.open(14, by: 14, at: .zero) == nil && places.open(15, by: 15, at: .zero) == 8)
    }

    @Test("A client with more than its share loses its own idle connections only; its share of requests is in progress")
    func share() {
        var places = ConnectionPlaces<String>(.operations(limit: 8))
        #expect(places.rules.share == 2 && places.open(1, by: "a", at: .zero) == nil)
        #expect(places.open(2, by: "b", at: .zero) == nil && places.open(3, by: "b", at: .zero) == nil)
        #expect(places.open(4, by: "b", at: .zero) == 2 && places.open(5, by: "b", at: .zero) == 3)
        #expect(places.begin(4, isProbe: false) && places.begin(5, isProbe: false))
        #expect(places.open(6, by: "b", at: .zero) == nil && !places.begin(6, isProbe: false))
        // A probe has a place beside them.
        #expect(places.open(7, by: "b", at: .zero) == nil && places.begin(7, isProbe: true))
        places.end(5, at: .zero)
        #expect(
            places.open(8, by: "b", at: .zero) == 5 && places.begin(8, isProbe: false)
                && places.open(9, by: "a", at: .zero) == nil)
    }

    @Test("Requests in progress leave places to probes, whoever sends them")
    func reserve() {
        var places = ConnectionPlaces<Int>(.operations(limit: 16))
        for id in 1...14 { #expect(places.open(id, by: id, at: .zero) == nil && places.begin(id, isProbe: false)) }
        #expect(
            places.rules.reserve == 2 && places.open(15, by: 15, at: .zero) == nil && !places.begin(15, isProbe: false))
        for id in 16...20 {
            #expect(places.open(id, by: id, at: .zero) == nil && places.begin(id, isProbe: true))
            places.end(id, at: .zero)
            places.close(id)
        }
        places.end(1, at: .zero)
        #expect(places.open(21, by: 21, at: .zero) == nil && places.begin(21, isProbe: false))
    }

    @Test(
        "On the public listener, a connection leaves after a second without a whole request, and a client has no share")
    func grace() {
        var places = ConnectionPlaces<Int>(.public(limit: 3))
        let opened = (1...3).map { places.open($0, by: 0, at: .milliseconds(100 * $0)) }
        #expect(opened == [nil, nil, nil])
        #expect(places.begin(1, isProbe: false) && places.isFull)
        let leaving = [1_199, 1_200, 1_400].map { places.makeRoom(at: .milliseconds($0)) }
        #expect(leaving == [nil, 2, nil] && !places.isFull && places.open(4, by: 0, at: .seconds(2)) == 3)
        // The response of the first has ended, the others are newer than a second.
        places.end(1, at: .seconds(2))
        #expect(places.open(5, by: 0, at: .seconds(3)) == 4 && places.open(6, by: 0, at: .seconds(3)) == 1)
    }

    /// The idle connections after many requests do not fill the memory.
    @Test("A hundred thousand requests on some connections, then the oldest leaves")
    func many() {
        var places = ConnectionPlaces<Int>(.public(limit: 4))
        for id in 1...3 { _ = places.open(id, by: 0, at: .zero) }
        for request in 0..<100_000 {
            let id = 1 + request % 2
            _ = places.begin(id, isProbe: false)
            places.end(id, at: .milliseconds(request))
        }
        let leaving = places.open(4, by: 0, at: .seconds(200))
        #expect(leaving == 3)
    }
}
