import pino from 'pino';

export type Log = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'json' | 'pretty';
  /**
   * Receives the lines; by default they go to standard error, because standard output is for results of commands and
   * for panels.
   */
  write?: (line: string) => void;
  /** The number of this process, if several of one machine share its ports; it is a field of each line. */
  process?: number | undefined;
  /** Standard error is the journal of systemd, which takes a line's priority from its prefix. */
  isForJournal?: boolean;
}

export function createLog(options: LogOptions): Log {
  const plain = options.write ?? oncePerTurn((text) => void process.stderr.write(text));
  const write = options.isForJournal ? prioritised(plain) : plain;
  const sink = { write: options.format === 'pretty' ? (line: string) => write(readable(line)) : write };
  const { stdTimeFunctions } = pino;
  const serializers = { err: errorFields };
  // Levels by name, which readers and log collectors understand better than numbers.
  const formatters = { level: (level: string) => ({ level }) };
  return pino(
    {
      level: options.level,
      base: options.process === undefined ? null : { process: options.process },
      timestamp: stdTimeFunctions.isoTime,
      redact: REDACTED,
      serializers,
      formatters,
    },
    sink,
  );
}

/**
 * A disk, a network or a database server in trouble: the place in the program where it was noticed does not help to
 * repair it.
 */
const OF_THE_WORLD =
  /^(?:E[A-Z0-9]+|SQLITE_(?:FULL|IOERR|READONLY|CANTOPEN|BUSY|LOCKED|CORRUPT|NOTADB)\w*|(?:08|53|57P)\w*)$/;

/** Not every field of an error is logged: PostgreSQL puts the whole failing row into `detail`. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const cause = error.cause === undefined ? {} : { cause: errorFields(error.cause) };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(OF_THE_WORLD.test(String(code)) ? {} : { stack: error.stack }),
    ...cause,
  };
}

/** Writes the lines of one turn of the event loop together; a process that ends writes the buffered ones. */
function oncePerTurn(write: (text: string) => void): (line: string) => void {
  let held = '';
  const flush = (): void => {
    const text = held;
    held = '';
    if (text !== '') write(text);
  };
  process.on('exit', flush);
  return (line) => {
    if (held === '') setImmediate(flush);
    held += line;
  };
}

/** RFC 5424 §6.2.1; systemd takes a line's priority from the prefix `<N>`. */
const PRIORITIES: Record<string, number> = { trace: 7, debug: 7, info: 6, warn: 4, error: 3, fatal: 2 };
const LEVEL = /^(?:\{"level":"|\S+ )(\w+)/;

/** So that `journalctl -p err` finds errors. */
const prioritised =
  (write: (line: string) => void) =>
  (line: string): void =>
    write(`<${PRIORITIES[LEVEL.exec(line)?.[1] ?? ''] ?? 6}>${line}`);

/** Removing an entry here would log a secret. */
const REDACTED = ['*.authorization', '*.token', '*.password', '*.private_key', 'authorization', 'token', 'password'];

function readable(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${String(time).slice(11, 19)} ${String(level)} ${String(msg)}${rest.join('')}\n`;
}
