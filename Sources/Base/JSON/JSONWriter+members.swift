/// Members of an object with a key and a value. A missing value is written as `null`.
extension JSONWriter {
    package mutating func member(_ name: String, _ text: String?) {
        key(name)
        if let text { value(text) } else { null() }
    }

    package mutating func member(_ name: String, _ number: Int64?) {
        key(name)
        if let number { value(number) } else { null() }
    }

    package mutating func member(_ name: String, _ flag: Bool?) {
        key(name)
        if let flag { value(flag) } else { null() }
    }

    package mutating func member(_ name: String, _ texts: [String]) {
        key(name)
        values(texts)
    }

    /// Writes a value that is already encoded; `null` if it is empty.
    package mutating func member(_ name: String, json: [UInt8]) {
        key(name)
        if json.isEmpty { null() } else { values(json: json) }
    }

    /// Writes counts as an object, sorted by name.
    package mutating func member(_ name: String, _ counts: [String: Int64]) {
        object(name) { writer in
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) { writer.member(name, count) }
        }
    }

    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    package mutating func array<Element>(
        _ name: String, _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) {
        key(name)
        beginArray()
        for element in elements { write(&self, element) }
        endArray()
    }

    package mutating func objects<Element>(
        _ name: String, _ elements: some Sequence<Element>, _ members: (inout JSONWriter, Element) -> Void
    ) {
        array(name, elements) { writer, element in writer.object { members(&$0, element) } }
    }
}

/// Members that are left out if they have no value: if it is `nil`, and encoded JSON also if it is empty.
extension JSONWriter {
    package mutating func member(_ name: String, ifPresent text: String?) {
        if let text { member(name, text) }
    }

    package mutating func member(_ name: String, ifPresent number: Int64?) {
        if let number { member(name, number) }
    }

    package mutating func member(_ name: String, ifPresent flag: Bool?) {
        if let flag { member(name, flag) }
    }

    package mutating func member(_ name: String, ifPresent json: [UInt8]?) {
        if let json, !json.isEmpty { member(name, json: json) }
    }
}

/// Values without a key.
extension JSONWriter {
    package mutating func value(_ text: String?) {
        if let text { value(text) } else { null() }
    }

    package mutating func values(_ texts: [String]) {
        beginArray()
        for text in texts { value(text) }
        endArray()
    }

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        beginObject()
        members(&self)
        endObject()
    }
}

/// Complete JSON texts. The capacity is the approximate size in bytes.
extension JSONWriter {
    package static func object(reserving capacity: Int = 1_024, _ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter(reserving: capacity)
        writer.object(members)
        return writer.finish()
    }

    package static func array<Element>(
        _ elements: some Sequence<Element>, _ write: (inout JSONWriter, Element) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginArray()
        for element in elements { writer.object { write(&$0, element) } }
        writer.endArray()
        return writer.finish()
    }

    package static func string(_ text: String) -> String {
        var writer = JSONWriter(reserving: text.utf8.count + 2)
        writer.value(text)
        return String(decoding: writer.finish(), as: UTF8.self)
    }

    package static func array(_ texts: [String]) -> [UInt8] {
        var writer = JSONWriter(reserving: 2 + 24 * texts.count)
        writer.values(texts)
        return writer.finish()
    }
}
