import { refuse, type FieldFault } from '../../../platform/refusal/index.ts';
import { parseIsoTime } from '../../../protocol/iso-time/index.ts';

type ValueType = 'string' | 'number' | 'boolean' | 'date';
export type PayloadSchema = Readonly<Record<string, ValueType>>;

const PAYLOAD_BYTES_MAX = 16 * 1024;
const KEY_CHARS_SHOWN = 60;

export const writeSchema = (schema: PayloadSchema | null): string | null =>
  schema === null ? null : JSON.stringify(schema);

export const readSchema = (stored: string | null): PayloadSchema | null =>
  stored === null ? null : (JSON.parse(stored) as PayloadSchema);

/** A payload is small, and where its event declares keys it holds no others, each with a value of its type. */
export function mustBePayload(payload: Readonly<Record<string, unknown>>, stored: string | null): void {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  if (bytes > PAYLOAD_BYTES_MAX) {
    throw refused([
      { path: 'payload', message: `payload may have at most ${PAYLOAD_BYTES_MAX} bytes of JSON; got ${bytes}.` },
    ]);
  }
  const schema = readSchema(stored);
  if (schema === null) return;
  const faults = Object.entries(payload).flatMap(([key, value]) => {
    const says = Object.hasOwn(schema, key) ? typeFault(schema[key], value) : unknownKey(schema);
    const path = `payload.${key.length > KEY_CHARS_SHOWN ? `${key.slice(0, KEY_CHARS_SHOWN)}…` : key}`;
    return says === undefined ? [] : [{ path, message: `${path} ${says}` }];
  });
  if (faults.length > 0) throw refused(faults);
}

function typeFault(type: ValueType | undefined, value: unknown): string | undefined {
  if (type === 'date') {
    const isDate = typeof value === 'string' && parseIsoTime(value) !== undefined;
    return isDate ? undefined : 'must be an ISO 8601 date or time, as the schema of the event says.';
  }
  return typeof value === type ? undefined : `must be a ${type}, as the schema of the event says.`;
}

function unknownKey(schema: PayloadSchema): string {
  const keys = Object.keys(schema);
  const known = keys.length === 0 ? 'it declares none' : `declared are ${keys.slice(0, 10).join(', ')}`;
  return `is not in the schema of the event; ${known}${keys.length > 10 ? ` and ${keys.length - 10} more` : ''}.`;
}

function refused(errors: FieldFault[]) {
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return refuse('validation_error', { status: 422, say: `${errors[0]?.message}${more}`, errors });
}
