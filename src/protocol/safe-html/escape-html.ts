const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const SPECIAL = /[&<>"']/;

const ENTITY_CHARS_MAX = 6;
/**
 * The entity of each byte: its length, 0 for a byte that is not escaped, and, in `entities` at six times the byte's
 * value, its bytes.
 */
const lengths = new Uint8Array(256);
const entities = new Uint8Array(256 * ENTITY_CHARS_MAX);
for (const [character, entity] of Object.entries(ENTITIES)) {
  const byte = character.charCodeAt(0);
  lengths[byte] = entity.length;
  entities.set(Buffer.from(entity), byte * ENTITY_CHARS_MAX);
}

/**
 * Escapes for text and for attributes in either kind of quotes. It works on bytes, because two megabytes of quotes take
 * a fraction of the time.
 */
export function escapeHtml(text: string): string {
  if (!SPECIAL.test(text)) return text;
  const bytes = Buffer.from(text);
  let length = bytes.length;
  for (let i = 0; i < bytes.length; i++) length += Math.max(0, lengths[bytes[i]!]! - 1);
  const out = Buffer.allocUnsafe(length);
  let written = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    const count = lengths[byte]!;
    if (count === 0) out[written++] = byte;
    else for (let k = 0; k < count; k++) out[written++] = entities[byte * ENTITY_CHARS_MAX + k]!;
  }
  return out.toString('utf8');
}
