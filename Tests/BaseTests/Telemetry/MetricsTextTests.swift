import ReceiptBridgeBase
import Testing

@Suite("Prometheus text format")
struct MetricsTextTests {
    private enum Fruit: MetricLabel {
        case apple, pear
    }

    private enum Size: MetricLabel {
        case small, large

        var text: String { self == .small ? "S" : "L" }
    }

    private func text(_ write: (inout MetricsText) -> Void) -> String {
        var text = MetricsText()
        write(&text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test("A metric family starts with its help and type, and each sample has its labels")
    func families() {
        let table = CounterTable(Fruit.texts, Size.texts)
        table.add(Fruit.apple, Size.large)
        table.add(Fruit.apple, Size.large, by: 2)
        table.add(Fruit.pear, Size.small)
        let text = text { text in
            text.family(.upstreamRequests)
            text.samples(.upstreamRequests, ["north"], of: table)
            text.single(.comparisonsWaiting, 7)
            text.single(.processCPU, 0.25)
        }
        #expect(
            text == """
                # HELP receipt_bridge_upstream_requests_total Exchanges with Apple by endpoint, environment and outcome.
                # TYPE receipt_bridge_upstream_requests_total counter
                receipt_bridge_upstream_requests_total{endpoint="north",environment="apple",outcome="S"} 0
                receipt_bridge_upstream_requests_total{endpoint="north",environment="apple",outcome="L"} 3
                receipt_bridge_upstream_requests_total{endpoint="north",environment="pear",outcome="S"} 1
                receipt_bridge_upstream_requests_total{endpoint="north",environment="pear",outcome="L"} 0
                # HELP receipt_bridge_shadow_waiting Comparisons waiting in the queue.
                # TYPE receipt_bridge_shadow_waiting gauge
                receipt_bridge_shadow_waiting 7
                # HELP process_cpu_seconds_total Total user and system CPU time spent in seconds.
                # TYPE process_cpu_seconds_total counter
                process_cpu_seconds_total 0.25

                """)
    }

    @Test("Label values are escaped")
    func escaping() {
        let text = text {
            $0.sample(.circuitOpen, ["quote \" back \\ line \n é"], 1)
        }
        #expect(text == #"receipt_bridge_upstream_circuit_open{host="quote \" back \\ line \n é"} 1"# + "\n")
    }

    @Test("Histogram buckets are cumulative, and the sum adds up all durations")
    func histogram() {
        let histogram = Histogram()
        for duration in [Duration.microseconds(500), .microseconds(501), .milliseconds(30), .seconds(60)] {
            histogram.observe(duration)
        }
        let text = text { $0.samples(.httpDurations, ["/"], of: histogram) }
        #expect(
            text == """
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.0005"} 1
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.001"} 2
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.0025"} 2
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.005"} 2
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.01"} 2
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.025"} 2
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.05"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.1"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.25"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="0.5"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="1"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="2.5"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="5"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="10"} 3
                receipt_bridge_http_request_duration_seconds_bucket{route="/",le="+Inf"} 4
                receipt_bridge_http_request_duration_seconds_sum{route="/"} 60.031001
                receipt_bridge_http_request_duration_seconds_count{route="/"} 4

                """)
        #expect(histogram.seconds(at: 0.5) == 0.001 && histogram.seconds(at: 1) == .infinity)
    }

    @Test("Negative and huge durations are clamped and do not trap")
    func strangeDurations() {
        let histogram = Histogram()
        for duration in [Duration.seconds(-5), .zero, .seconds(Int64.max), .seconds(Int64.min)] {
            histogram.observe(duration)
        }
        #expect(histogram.count == 4 && histogram.seconds == 1_000_000)
    }

    @Test("Indexes outside a counter table are ignored")
    func beyond() {
        let table = CounterTable(Fruit.texts)
        table.add(at: 2)
        table.add(at: -1)
        table.add(at: 0, 1)
        table.add(Fruit.pear, Fruit.pear)
        #expect(table.total == 0 && table.count(Fruit.pear, Fruit.pear) == 0)
    }

    @Test("Concurrent increments are not lost")
    func together() async {
        let table = CounterTable(Fruit.texts)
        let histogram = Histogram()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 {
                        table.add(Fruit.pear)
                        histogram.observe(.milliseconds(1))
                    }
                }
            }
        }
        #expect(table.count(Fruit.pear) == 80_000 && histogram.count == 80_000 && histogram.seconds == 80)
    }

    #if os(Linux)
        @Test("The process metrics are plausible")
        func process() throws {
            let figures = try #require(ProcessFigures())
            #expect(figures.residentBytes > 1 << 20 && figures.virtualBytes >= figures.residentBytes)
            #expect(figures.threads >= 1 && figures.openFiles >= 3 && figures.cpuSeconds > 0)
            #expect(figures.startTime > 1_600_000_000)
            let text = text { figures.write(into: &$0) }
            #expect(text.contains("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total "))
        }
    #endif
}
