// a development server that is stopped and started elsewhere --> the console goes on with it
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { Desk } from '../cli/desk.ts';
import { freePort } from '../rig/free-port.ts';
import { Screen } from './screen.ts';

describe('a development server that returns on another port', () => {
  it('is found by the console, which continues where it was', async () => {
    await using desk = new Desk();
    const database = await desk.database();
    const start = async () =>
      desk.serve(['dev', '--data', 'dev'], { env: { ...database, RASKET_HTTP_PORT: String(await freePort()) } });
    const before = await start();
    const mail = ['--from', 'hello@playground.test', '--to', 'ada@example.org', '--subject', 'Kept', '--text', 'Hi'];
    const sent = await desk.rasket(['send', ...mail], { env: { RASKET_DATA: desk.at('dev') } });
    expect(sent, sent.stderr).toMatchObject({ code: 0 });
    const env = { RASKET_DATA: desk.at('dev'), RASKET_URL: undefined, RASKET_API_KEY: undefined };
    await using seat = await Screen.take({ url: '', key: '', columns: 100, env });
    await seat.sees('✓ connected', before.url);
    await seat.press('2');
    await seat.sees(/^› .*Kept/m);
    await before.stop();
    await seat.sees('✗ no response since', 'Kept');
    const other = await takePort(before.url);
    const after = await start();
    expect(after.url).not.toBe(before.url);
    await seat.sees('✓ connected', after.url, /^› .*Kept/m);
    await seat.press('4');
    await seat.sees(/^ keys/m, 'rk_');
    await seat.press('c');
    await seat.sees('create: create a key');
    await seat.type('Made there');
    await seat.press('C-s');
    await seat.sees('This is the only time the key is shown');
    other.close();

    after.kill('SIGKILL');
    await after.ended;
    const stranger = await takePort(after.url);
    await seat.press('Escape');
    await seat.press('5');
    await seat.sees('✗ no response since', 'No development server is running on');
    expect(stranger.asked).toBe(0);
    stranger.close();
  });
});

/** Somebody else who has the port of a server that is gone. */
async function takePort(url: string): Promise<{ asked: number; close(): void }> {
  const server = net.createServer((socket) => {
    other.asked++;
    socket.destroy();
  });
  const other = { asked: 0, close: () => void server.close() };
  await new Promise<void>((resolve) => void server.listen(Number(new URL(url).port), '127.0.0.1', resolve));
  return other;
}
