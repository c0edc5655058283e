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

/// Strings. ``key(_:)`` and ``value(_:)`` use these methods.
extension JSONWriter {
    /// Writes a JSON string with quotes, and with escapes where RFC 8259 requires them.
    @inlinable public mutating func quoted(_ text: String) {
        byte(0x22)
        characters(text)
        byte(0x22)
    }

    /// Writes the contents of a JSON string, without quotes.
    @inlinable public mutating func characters(_ text: String) {
        var text = text
        text.withUTF8 { characters(utf8: $0) }
    }

    /// Writes the contents of a JSON string from UTF-8, without quotes.
    @inlinable public mutating func characters(utf8: UnsafeBufferPointer<UInt8>) {
        let plain = PlainText.end(in: utf8, from: 0)
        raw(UnsafeBufferPointer(rebasing: utf8[..<plain]))
        for index in plain..<utf8.count { escaped(utf8[index]) }
    }

    /// Writes one byte, escaped if JSON requires it. Bytes of multi-byte UTF-8 characters are never escaped.
    @usableFromInline mutating func escaped(_ byte: UInt8) {
        switch byte {
        case 0x22: ascii(#"\""#)
        case 0x5C: ascii(#"\\"#)
        case 0x08: ascii(#"\b"#)
        case 0x09: ascii(#"\t"#)
        case 0x0A: ascii(#"\n"#)
        case 0x0C: ascii(#"\f"#)
        case 0x0D: ascii(#"\r"#)
        case 0..<0x20:
            ascii(#"\u00"#)
            var digits: [UInt8] = []
            Hexadecimal.append(byte, to: &digits)
            raw(digits)
        default: self.byte(byte)
        }
    }
}
