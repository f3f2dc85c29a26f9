/** Defines how one setting is read, checked and shown. `expects` ends the sentence "http.port must be …". */
export interface Kind<T> {
  readonly expects: string;
  /**
   * Converts the text of an environment variable into the value that TOML would have; `read` rejects text that cannot
   * be converted.
   */
  fromText(text: string): unknown;
  read(raw: unknown): Parsed<T>;
  toToml(value: T): unknown;
  /** Only on secrets, whose values are never quoted in a fault and are only shown masked. */
  mask?(value: T): T;
}

export type Parsed<T> = { readonly value: T } | { readonly unfit: readonly Unfit[] };

/** One fault inside a value; `at` is its position, such as `[2]` in a list. */
export interface Unfit {
  readonly at: string;
  readonly expects: string;
  readonly got: unknown;
}

export function integer(range: { min: number; max: number; unit: string }): Kind<number> {
  const { min, max, unit } = range;
  return createKind(
    `an integer from ${min} to ${max} (${unit})`,
    (raw): raw is number => typeof raw === 'number' && Number.isInteger(raw) && raw >= min && raw <= max,
    integerFromText,
  );
}

/** A share in per cent, with decimals. */
export function percent(): Kind<number> {
  return createKind(
    'a number from 0 to 100 (per cent)',
    (raw): raw is number => typeof raw === 'number' && raw >= 0 && raw <= 100,
    (line) => (/^\d{1,3}(\.\d{1,6})?$/.test(line.trim()) ? Number(line) : line),
  );
}

/** A limit that 0 switches off: null inside the program, so that 0 cannot be mistaken for "nothing allowed". */
export function integerOrNone(range: { max: number; unit: string }): Kind<number | null> {
  const counted = integer({ min: 0, ...range });
  return {
    expects: counted.expects,
    fromText: counted.fromText,
    read: (raw) => (raw === 0 || raw === null ? { value: null } : counted.read(raw)),
    toToml: (value) => value ?? 0,
  };
}

export function flag(): Kind<boolean> {
  return createKind(
    'true or false',
    (raw): raw is boolean => typeof raw === 'boolean',
    (text) => (text === 'true' ? true : text === 'false' ? false : text),
  );
}

export function oneOf<const T extends string>(words: readonly T[]): Kind<T> {
  const quoted = words.map((word) => `"${word}"`);
  const expects = `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
  return createKind(expects, (raw): raw is T => (words as readonly unknown[]).includes(raw));
}

export function text(expects: string, fits: (value: string) => boolean): Kind<string> {
  return createKind(expects, (raw): raw is string => typeof raw === 'string' && fits(raw));
}

export function textOrEmpty(expects: string, fits: (value: string) => boolean): Kind<string> {
  return text(`${expects}, or ""`, (value) => value === '' || fits(value));
}

export function list<T>(item: Kind<T>, limits: { min: number; max: number }): Kind<readonly T[]> {
  const expects = `a list of ${limits.min} to ${limits.max} items, each ${item.expects}`;
  return {
    expects,
    fromText: (line) => (line.trim() === '' ? [] : line.split(',').map((part) => item.fromText(part.trim()))),
    read: (raw) => {
      if (!Array.isArray(raw)) return { unfit: [{ at: '', expects, got: raw }] };
      if (raw.length < limits.min || raw.length > limits.max) {
        return { unfit: [{ at: '', expects: `a list of ${limits.min} to ${limits.max} items`, got: raw }] };
      }
      return readItems(item, raw);
    },
    toToml: (value) => value.map((one) => item.toToml(one)),
  };
}

export function secret(kind: Kind<string>, mask: (value: string) => string): Kind<string> {
  return { ...kind, mask };
}

function createKind<T>(
  expects: string,
  fits: (raw: unknown) => raw is T,
  fromText = (line: string): unknown => line,
): Kind<T> {
  return {
    expects,
    fromText,
    read: (raw) => (fits(raw) ? { value: raw } : { unfit: [{ at: '', expects, got: raw }] }),
    toToml: (value) => value,
  };
}

function integerFromText(line: string): unknown {
  return /^-?\d{1,15}$/.test(line.trim()) ? Number(line) : line;
}

function readItems<T>(item: Kind<T>, raw: readonly unknown[]): Parsed<readonly T[]> {
  const values: T[] = [];
  const unfit: Unfit[] = [];
  for (const [index, one] of raw.entries()) {
    const parsed = item.read(one);
    if ('value' in parsed) values.push(parsed.value);
    else unfit.push(...parsed.unfit.map((fault) => ({ ...fault, at: `[${index}]${fault.at}` })));
  }
  return unfit.length > 0 ? { unfit } : { value: values };
}
