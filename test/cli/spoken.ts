import { startAnswering, type Answer, type Asked } from './contract-server.ts';
import { runInProcess, type Around } from './in-process.ts';

export interface Heard {
  stdout: string;
  stderr: string;
  code: number | null;
  asked: Asked[];
  url: string;
}

/** Speaks a command in this process, into a pipe or at a terminal of so many columns, to a server that answers what a test says. */
export async function speak(
  words: string[],
  answer: (asked: Asked, count: number) => Answer | Promise<Answer>,
  { columns, ...around }: { columns?: number } & Pick<Around, 'onOutput' | 'onStart' | 'input'> = {},
): Promise<Heard> {
  const server = await startAnswering(answer);
  const env = { ...process.env, RASKET_URL: server.url, RASKET_API_KEY: 'rk_test' };
  try {
    const { stdout, stderr, code } = await runInProcess(words, { env, cwd: process.cwd(), columns, ...around });
    return { stdout, stderr, code, asked: server.asked, url: server.url };
  } finally {
    server.close();
  }
}
