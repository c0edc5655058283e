package import JSONReading
package import StoreTypes

extension JSONObject {
    /// Milliseconds since 1970; fractions, which Xcode writes, are cut off.
    package func date(_ name: StaticString) throws(JSONFieldError) -> Timestamp? {
        try milliseconds(name).map(Timestamp.init(milliseconds:))
    }
}
