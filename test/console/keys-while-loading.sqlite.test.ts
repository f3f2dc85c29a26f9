import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startAnswering, type Asked } from '../cli/contract-server.ts';
import { writingInbox, type WritingInbox } from '../rig/inbox.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { Screen } from './screen.ts';

/** A page and a bit more. */
const EMAILS = 60;

let scene: Scene;
let team: Team;
let inbox: WritingInbox;
beforeAll(async () => {
  scene = await startScene();
  team = await scene.team('Example');
  await team.domain('mail.example.com');
  inbox = await writingInbox(scene, team);
  await inbox.call('POST', '/labels', { body: { name: 'Urgent', color: '#00A2C7' } });
  await inbox.arrive({ subject: 'Where is order 1041?', text: 'Where is it?' });
  for (let at = 1; at <= EMAILS; at++) {
    const body = { from: 'hello@mail.example.com', to: 'ada@example.org', subject: `Subject ${at}`, text: 'T' };
    await scene.api('POST', '/emails', { key: team.key, body });
  }
  await scene.settled();
  await scene.api('POST', '/segments', { key: team.key, body: { name: 'Customers' } });
});
afterAll(() => scene?.close());

/** The real server behind a door: what is asked for while that is shut waits until it is opened. */
async function startDoor() {
  let isShut: (asked: Asked) => boolean = () => false;
  let isBroken = false;
  const waiting: (() => void)[] = [];
  const server = await startAnswering(async (asked) => {
    if (isShut(asked)) await new Promise<void>((resolve) => waiting.push(resolve));
    if (isBroken) return { status: 500, body: { statusCode: 500, name: 'internal_server_error', message: 'No.' } };
    const { method, path, query, body } = asked;
    const target = `${path}?${new URLSearchParams(query).toString()}`;
    const asking = scene.api(method, target, { key: team.key, ...(body === undefined ? {} : { body }) });
    // The console asks until its end, which is behind that of the scene at the last test.
    const answer = await asking.catch(() => undefined);
    return answer ? { status: answer.status, body: answer.body as unknown } : 'hang up';
  });
  return {
    ...server,
    /** Waits until it is asked what is waited for. */
    isAsked: () => vi.waitFor(() => expect(waiting).not.toHaveLength(0)),
    shut: (at: RegExp) => void (isShut = ({ path, query }) => at.test(`${path}?${new URLSearchParams(query)}`)),
    open(how: 'as it is' | 'broken' = 'as it is'): void {
      isBroken = how === 'broken';
      isShut = () => false;
      for (const go of waiting.splice(0)) go();
    },
  };
}

describe('keys pressed while the console loads', () => {
  it('are applied once the list is there: down, and open', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    door.shut(/^\/emails\?/);
    await seat.press('2', 'j', 'Down', 'Enter');
    await seat.sees('3 keys wait for the screen to load; esc drops them.');
    door.open();
    await seat.sees('emails › Subject 58');
    door.close();
  });

  it('act at once when they do not need the list, and Esc discards the waiting ones', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    door.shut(/^\/emails\?/);
    await seat.press('2', '?');
    await seat.sees('Navigation');
    await seat.press('Escape', 's');
    await seat.sees('send: send an email');
    await seat.press('Escape', 'j', 'Enter');
    await seat.sees('2 keys wait');
    await seat.press('Escape', '3');
    await seat.sees(/^ domains/m, 'mail.example.com');
    await seat.press('2');
    door.open();
    await seat.sees(/^› .*Subject 60/m);
    door.close();
  });

  it('reach the menu and the prompt that were requested before them', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    door.shut(/^\/emails\?/);
    await seat.press('2', 'j');
    await seat.type(':3');
    await seat.sees('3 keys wait');
    door.open();
    await seat.sees(/^ :3/m, /^› .*Subject 59/m);
    door.close();
  });

  it('wait for the end of a list, and then apply to it', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    await seat.press('2');
    await seat.sees('1/50+');
    door.shut(/^\/emails\?.*before=/);
    await seat.press('G');
    await door.isAsked();
    await seat.press('Enter');
    await seat.sees('1 key waits for the screen to load; esc drops it.');
    door.open();
    await seat.sees(/emails › Subject 1 /);
    door.close();
  });

  it('switch to the intended tab of an item that is loading', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    await seat.press('2');
    await seat.sees('1/50+');
    door.shut(/^\/emails\/[^/]+\?/);
    await seat.press('Enter');
    await door.isAsked();
    await seat.press('Right', 'Right');
    door.open();
    await seat.sees('emails › Subject 60', '[text]');
    door.close();
  });

  it('are discarded when the list cannot be loaded', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    door.shut(/^\/emails\?/);
    await seat.press('2', 'j', 'Enter');
    await seat.sees('2 keys wait');
    door.open('broken');
    await seat.sees('Nothing was loaded yet.', /^(?![^]*keys wait)/);
    door.open();
    await seat.press('r');
    await seat.sees(/^› .*Subject 60/m);
    door.close();
  });

  it('are discarded when the server stops responding', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    door.shut(/^\/segments\/|^\/segments\?/);
    await seat.type(':segments');
    await seat.press('Enter');
    await seat.sees('loading …');
    await seat.press('j', 'Enter');
    await seat.sees('2 keys wait');
    await seat.sees('✗ no response since', /^(?![^]*keys wait)/);
    await seat.press('Enter');
    door.open();
    await seat.sees('✓ connected', /^› Customers/m);
    door.close();
  });

  it('are typed into a form that loads the current values', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    await seat.type(':segments');
    await seat.press('Enter');
    await seat.sees('Customers');
    door.shut(/^\/segments\/[^/]+\?/);
    await seat.press('u');
    await seat.sees('Loading the current values');
    await door.isAsked();
    await seat.type(' of ours');
    door.open();
    await seat.sees('Customers of ours');
    door.close();
  });

  it('choose a label, and do nothing else to the thread meanwhile', async () => {
    const door = await startDoor();
    await using seat = await Screen.take({ url: door.url, key: team.key });
    await seat.sees('received mail');
    await seat.type(':inbox');
    await seat.press('Enter');
    await seat.sees(/^ inbox/m, inbox.address);
    await seat.press('Enter');
    await seat.sees('Where is order 1041?', 'Where is it?');
    door.shut(/\/labels\?/);
    await seat.press('l');
    await door.isAsked();
    await seat.press('1');
    door.open();
    await seat.sees('Added  Urgent');
    door.close();
  });
});
