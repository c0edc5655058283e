/// The size of a test's data: what shows the property in debug, and much more in release, where the same work takes a
/// fifth of the time. `make check` and CI run both.
///
///     let customers = TestSize.pick(debug: 100, release: 2_000)
package enum TestSize {
    package static func pick<Value>(debug: Value, release: Value) -> Value {
        #if DEBUG
            debug
        #else
            release
        #endif
    }
}
