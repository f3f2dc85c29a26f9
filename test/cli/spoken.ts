import { Command, CommanderError } from 'commander';
import { vi } from 'vitest';
import { addClientCommands } from '../../cli/index.ts';
import { startAnswering, type Asked, type Reply } from './contract-server.ts';

export interface Heard {
  stdout: string;
  stderr: string;
  code: number;
  asked: Asked[];
  url: string;
}

/** Speaks a command in this process, into a pipe or at a terminal of so many columns, to a server that answers what a test says. */
export async function speak(
  words: string[],
  answer: (asked: Asked, count: number) => Reply,
  { columns }: { columns?: number } = {},
): Promise<Heard> {
  const server = await startAnswering(answer);
  vi.stubEnv('RASKET_URL', server.url);
  vi.stubEnv('RASKET_API_KEY', 'rk_test');
  const heard = { stdout: '', stderr: '' };
  const streams = (['stdout', 'stderr'] as const).map((name) => {
    const stream = process[name];
    const before = { isTTY: stream.isTTY, columns: stream.columns };
    Object.assign(stream, { isTTY: columns !== undefined, columns: columns ?? 0 });
    const spy = vi.spyOn(stream, 'write').mockImplementation((chunk, ...more: unknown[]) => {
      heard[name] += String(chunk);
      for (const written of more) if (typeof written === 'function') written();
      return true;
    });
    return () => {
      spy.mockRestore();
      Object.assign(stream, before);
    };
  });
  let code: number | undefined;
  try {
    const program = new Command('rasket').version('9.9.9').exitOverride();
    addClientCommands(program, words[0]);
    await program.parseAsync(['node', 'rasket', ...words]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    code = 64;
  } finally {
    for (const restore of streams) restore();
    vi.unstubAllEnvs();
    server.close();
  }
  code ??= Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  return { ...heard, code, asked: server.asked, url: server.url };
}
