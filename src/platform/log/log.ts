import pino from 'pino';

export type Log = pino.Logger;

export interface LogOptions {
  level: string;
  format: 'json' | 'pretty';
  /** Where lines go; standard error by default, because standard output belongs to answers and panels. */
  write?: (line: string) => void;
}

export function createLog(options: LogOptions): Log {
  const write = options.write ?? ((line: string) => void process.stderr.write(line));
  const sink = { write: options.format === 'pretty' ? (line: string) => write(readable(line)) : write };
  return pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: REDACTED }, sink);
}

/** Removing an entry here is the dangerous change. */
const REDACTED = ['*.authorization', '*.token', '*.password', '*.private_key', 'authorization', 'token', 'password'];

const LEVELS: Record<number, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };

function readable(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${String(time).slice(11, 19)} ${LEVELS[Number(level)] ?? level} ${String(msg)}${rest.join('')}\n`;
}
