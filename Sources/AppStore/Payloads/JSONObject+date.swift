package import JSONReading
package import StoreTypes

extension JSONObject {
    /// A date in milliseconds since 1970. Fractions, which Xcode writes, are truncated.
    package func date(_ name: StaticString) throws(JSONFieldError) -> Timestamp? {
        try milliseconds(name).map(Timestamp.init(milliseconds:))
    }
}
