/// A mutable camelCase object that keeps its members in the order in which they were added.
struct ServerAPIObject {
    private var names: [String] = []
    private var values: [String: JSONTree] = [:]

    var isEmpty: Bool { names.isEmpty }

    /// The value of a member. Setting `nil` removes the member; a new member is added at the end.
    subscript(name: String) -> JSONTree? {
        get { values[name] }
        set {
            if newValue == nil {
                names.removeAll { $0 == name }
            } else if values[name] == nil {
                names.append(name)
            }
            values[name] = newValue
        }
    }

    /// Removes a member and returns its value.
    mutating func take(_ name: String) -> JSONTree? {
        defer { self[name] = nil }
        return self[name]
    }

    mutating func removeAll(where isUnwanted: (String) -> Bool) {
        for name in names where isUnwanted(name) { self[name] = nil }
    }

    func write(into writer: inout JSONWriter) {
        writer.beginObject()
        for name in names {
            guard let value = values[name] else { continue }
            writer.key(name)
            writer.value(value)
        }
        writer.endObject()
    }
}
