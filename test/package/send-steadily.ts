/**
 * Sends one email after the other until it is told to end (SIGTERM), and tries each again by its key until it is acknowledged:
 * `node send-steadily.ts URL KEY FILE`. FILE gets a line with the recipient of each that was acknowledged.
 */
import { appendFileSync } from 'node:fs';

const [url = '', key = '', file = ''] = process.argv.slice(2);
const LINES = 4;
const AGAIN_MS = 100;
let isEnding = false;
process.on('SIGTERM', () => (isEnding = true));

async function isAcknowledged(to: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/emails`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'user-agent': 'steady',
        'idempotency-key': to,
      },
      body: JSON.stringify({ from: 'hello@example.com', to, subject: to, text: 'It works.' }),
    });
    await answer.text();
    return answer.status === 200;
  } catch {
    return false;
  }
}

async function sendOn(line: number): Promise<void> {
  for (let at = 0; !isEnding; at++) {
    const to = `line${line}-${at}@example.org`;
    let isTaken = await isAcknowledged(to);
    while (!isTaken && !isEnding) {
      await new Promise((done) => setTimeout(done, AGAIN_MS));
      isTaken = await isAcknowledged(to);
    }
    if (isTaken) appendFileSync(file, `${to}\n`);
  }
}

await Promise.all(Array.from({ length: LINES }, (_, line) => sendOn(line)));
