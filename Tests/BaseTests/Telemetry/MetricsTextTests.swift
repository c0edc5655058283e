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
            let fruits = MetricFamily("fruits_total", .counter, "Fruits sold.", labels: ["shop", "fruit", "size"])
            text.family(fruits)
            text.samples(fruits, ["north"], of: table)
            text.single(MetricFamily("price_euros", .gauge, "Of one."), 7)
            text.single(MetricFamily("weight_kilograms", .gauge, "Of all."), 0.25)
        }
        #expect(
            text == """
                # HELP fruits_total Fruits sold.
                # TYPE fruits_total counter
                fruits_total{shop="north",fruit="apple",size="S"} 0
                fruits_total{shop="north",fruit="apple",size="L"} 3
                fruits_total{shop="north",fruit="pear",size="S"} 1
                fruits_total{shop="north",fruit="pear",size="L"} 0
                # HELP price_euros Of one.
                # TYPE price_euros gauge
                price_euros 7
                # HELP weight_kilograms Of all.
                # TYPE weight_kilograms gauge
                weight_kilograms 0.25

                """)
    }

    @Test("Label values are escaped")
    func escaping() {
        let text = text {
            $0.sample(MetricFamily("a", .gauge, "Of a test.", labels: ["b"]), ["quote \" back \\ line \n é"], 1)
        }
        #expect(text == #"a{b="quote \" back \\ line \n é"} 1"# + "\n")
    }

    @Test("Histogram buckets are cumulative, and the sum adds up all durations")
    func histogram() {
        let histogram = Histogram()
        for duration in [Duration.microseconds(500), .microseconds(501), .milliseconds(30), .seconds(60)] {
            histogram.observe(duration)
        }
        let text = text { $0.samples(MetricFamily("wait_seconds", .gauge, "Of a test."), of: histogram) }
        #expect(
            text == """
                wait_seconds_bucket{le="0.0005"} 1
                wait_seconds_bucket{le="0.001"} 2
                wait_seconds_bucket{le="0.0025"} 2
                wait_seconds_bucket{le="0.005"} 2
                wait_seconds_bucket{le="0.01"} 2
                wait_seconds_bucket{le="0.025"} 2
                wait_seconds_bucket{le="0.05"} 3
                wait_seconds_bucket{le="0.1"} 3
                wait_seconds_bucket{le="0.25"} 3
                wait_seconds_bucket{le="0.5"} 3
                wait_seconds_bucket{le="1"} 3
                wait_seconds_bucket{le="2.5"} 3
                wait_seconds_bucket{le="5"} 3
                wait_seconds_bucket{le="10"} 3
                wait_seconds_bucket{le="+Inf"} 4
                wait_seconds_sum 60.031001
                wait_seconds_count 4

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
