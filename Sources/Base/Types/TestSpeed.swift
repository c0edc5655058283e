import Foundation

/// A divisor of pauses, so that tests of the built program do not wait for seconds. Only tests set it: by the
/// environment variable `RECEIPT_BRIDGE_TEST_SPEED`, a whole number from 1 to 1,000. Without it, and with any other
/// value, it is 1.
///
/// It applies to pauses that this program chooses: between retries, between two looks at the store, and while another
/// process has a lock. It applies neither to deadlines of requests nor to pauses that the App Store asks for.
package enum TestSpeed {
    package static let variable = "RECEIPT_BRIDGE_TEST_SPEED"

    /// Read once, when the first pause is needed.
    package static let divisor = divisor(getenv(variable).map { String(cString: $0) })

    package static func divisor(_ text: String?) -> Int {
        guard let number = text.flatMap({ Int($0) }), (1...1_000).contains(number) else { return 1 }
        return number
    }
}

extension Duration {
    /// This pause divided by ``TestSpeed/divisor``, but not shortened to less than the minimum.
    package func atTestSpeed(atLeast minimum: Duration = .zero, divisor: Int = TestSpeed.divisor) -> Duration {
        divisor == 1 ? self : max(self / divisor, min(self, minimum))
    }
}

extension Double {
    /// This number of seconds divided as ``Swift/Duration/atTestSpeed(atLeast:divisor:)`` does.
    package func secondsAtTestSpeed(atLeast minimum: Double) -> Double {
        Duration.seconds(self).atTestSpeed(atLeast: .seconds(minimum)) / .seconds(1)
    }
}
