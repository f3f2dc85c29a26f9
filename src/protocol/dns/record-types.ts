/** The numbers of RFC 1035 §3.2.2, RFC 3596, RFC 8659, RFC 6891, RFC 8945 and RFC 4034; what is missing here is opaque. */
export const RECORD_TYPES = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  DS: 43,
  DNSKEY: 48,
  TSIG: 250,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const;

export type RecordTypeName = keyof typeof RECORD_TYPES;

export const CLASSES = { IN: 1, NONE: 254, ANY: 255 } as const;

const NAMES = new Map<number, string>(Object.entries(RECORD_TYPES).map(([name, number]) => [number, name]));

export const typeNumber = (type: RecordTypeName | number): number =>
  typeof type === 'number' ? type : RECORD_TYPES[type];

/** RFC 3597 §5: a type without a name is written TYPE and its number. */
export const typeName = (number: number): string => NAMES.get(number) ?? `TYPE${number}`;
