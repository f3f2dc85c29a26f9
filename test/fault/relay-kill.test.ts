import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApi } from '../rig/api.ts';
import { scratchFolder } from '../rig/scratch.ts';
import { startSink } from '../rig/sink.ts';
import { makeCertificate } from '../rig/tls.ts';
import { installProgram, type LogLine } from './program.ts';

const RELAY = 'smtp.relay.test';
const SECRET = 'Correct-horse-battery-staple';

describe('a kill -9 while a relay has not replied to the final dot', () => {
  it('leaves the message in doubt and does not send it to the relay a second time', { timeout: 120_000 }, async () => {
    const certificate = makeCertificate({ names: [RELAY] });
    const folder = scratchFolder('rasket-relay-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'relay.pem');
    writeFileSync(file, certificate.cert);
    const auth = { user: 'me', secret: SECRET };
    const sink = await startSink({ tls: 'implicit', certificate, auth });
    onTestFinished(() => sink.close());
    const lines: LogLine[] = [];
    const unknown = Promise.withResolvers<LogLine>();
    const program = await installProgram(
      sink,
      (line) => {
        lines.push(line);
        if (line.msg === 'delivery outcome unknown') unknown.resolve(line);
      },
      {
        publish: (dns) => dns.set(RELAY, 'A', ['127.0.0.1']),
        env: {
          RASKET_DELIVERY_RELAY: 'main',
          RASKET_RELAYS_MAIN_HOST: RELAY,
          RASKET_RELAYS_MAIN_PORT: String(sink.port),
          RASKET_RELAYS_MAIN_TLS: 'implicit',
          RASKET_RELAYS_MAIN_CA_FILE: file,
          RASKET_RELAYS_MAIN_USER: auth.user,
          RASKET_RELAYS_MAIN_PASSWORD: SECRET,
          RASKET_LOG_LEVEL: 'debug',
        },
      },
    );
    const send = async (to: string): Promise<string> => {
      const body = { from: program.from, to, subject: 'Hello', text: 'It works.' };
      const {
        status,
        text,
        body: answer,
      } = await createApi(await program.listening())('POST', '/emails', {
        key: program.apiKey,
        body,
      });
      if (status !== 200) throw new Error(`a send was answered with ${status} ${text}`);
      return answer.id as string;
    };

    const doubtful = await send('slow@y.example');
    await sink.waitFor((one) => one.held() === 1);
    await program.kill();
    await program.start();
    expect((await unknown.promise)['emailId']).toBe(doubtful);
    await send('a@y.example');
    await sink.waitFor(1);
    expect(sink.commands.filter((line) => line.startsWith('RCPT TO:<slow@'))).toHaveLength(1);
    expect(sink.messages.map(({ rcptTo }) => rcptTo)).toEqual([['a@y.example']]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
    await program.stop();
  });
});
