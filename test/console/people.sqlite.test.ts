// the console --> the API as a person who has signed in: invitations, members, sessions, teams
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPeople, type People, type Person } from '../rig/people.ts';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { startStandInProvider, type StandInProvider } from '../rig/stand-in-provider.ts';
import { keepFrame } from './keep-frame.ts';
import { Screen } from './screen.ts';

describe('the console of a person', () => {
  let scene: Scene;
  let team: Team;
  let ada: Person;
  let people: People;
  let seat: Screen;
  let provider: StandInProvider;
  beforeAll(async () => {
    scene = await startScene({ config: { sso: { allow_private: ['127.0.0.0/8'] } } });
    provider = await startStandInProvider(() => scene.clock.now());
    team = await scene.team('Engines');
    await team.domain('mail.example.com');
    people = createPeople(scene);
    ada = await people.person({ email: 'ada@people.example', team, role: 'owner' });
    await people.person({ email: 'grace@people.example', team, role: 'viewer' });
    seat = await Screen.take({ url: scene.url, key: await people.program(ada, team.id) });
    await seat.sees('Mail of the last');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await provider?.close();
    await scene?.close();
  });

  const go = async (command: string, sees: string | RegExp): Promise<string> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    return seat.sees(sees);
  };

  /** Their order is that of ids which are made up. */
  async function inHand(frame: string, name: string): Promise<void> {
    if (!new RegExp(`^›.*${name}`, 'm').test(frame)) await seat.press('j');
    await seat.sees(new RegExp(`^›.*${name}`, 'm'));
  }

  it('invites a person, and lists the invitations', async () => {
    await go('invitations', 'Nobody is invited.');
    await seat.press('c');
    await seat.sees('email *');
    await seat.type('joan@people.example');
    await seat.press('Tab');
    await seat.type('viewer');
    await seat.press('Enter');
    await seat.sees(/Invited/);
    const { data } = (await ada.call('GET', `/teams/${team.id}/invitations`)).body;
    expect(data).toMatchObject([{ email: 'joan@people.example', role: 'viewer' }]);
    await scene.settled();
    await keepFrame(seat, 'person/invitations', 'joan@people.example');
  });

  it('changes the role of a person', async () => {
    await inHand(await go('members', 'grace@people.example'), 'grace@people.example');
    await seat.press('u');
    await seat.sees(/role +viewer/);
    for (let i = 0; i < 'viewer'.length; i++) await seat.press('BSpace');
    await seat.type('admin');
    await seat.press('Enter', 'Enter');
    await seat.sees('grace@people.example is now admin.');
  });

  it('shows the sessions, and ends one of them after a confirmation', async () => {
    await inHand(await go('sessions', 'rasket on a-laptop'), 'browser');
    await seat.press('e');
    await seat.sees(/End one of your sessions/);
    await seat.press('y');
    await seat.sees('Ended');
    expect((await ada.call('GET', '/auth/session')).status).toBe(401);
    ada = await people.session(ada, team.id);
  });

  it('shows the own account with its teams and without a second factor', async () => {
    await go('account', 'ada@people.example');
    await keepFrame(seat, 'person/account', 'rasket account mfa enable');
    await seat.press('l');
    await seat.sees('[teams]', /^› Engines/m);
    await seat.press('Escape');
  });

  it('sets up single sign-on, and adds a domain to it', async () => {
    await go('sso', 'Single sign-on not found');
    await seat.press('u');
    await seat.sees('client secret');
    await seat.type(provider.issuer);
    await seat.press('Tab');
    await seat.type('rasket');
    await seat.press('Tab');
    await seat.type('very secret');
    await seat.sees('•••••••••••');
    await seat.press('C-s');
    await seat.sees(`Single sign-on through ${provider.issuer}`);
    await seat.sees(/Status +no_domain/);
    await seat.press('Escape');
    await seat.press('a');
    await seat.sees('domain *');
    await seat.type('people.example');
    await seat.press('Enter');
    await seat.sees('_rasket-sso.people.example');
    const at = `/teams/${team.id}/sso`;
    expect((await ada.call('GET', at)).body).toMatchObject({ client_id: 'rasket', domains: [{ status: 'pending' }] });
    await seat.press('Escape');
    await go('sso', /Status +no_domain/);
    await keepFrame(seat, 'person/sso', 'no_domain');
    await seat.press('v');
    await seat.sees('domain *');
    await seat.type('people.example');
    await seat.press('Enter');
    await seat.sees('people.example is not verified');
  });

  it('switches to another team', async () => {
    expect((await ada.call('POST', '/teams', { name: 'Looms' })).status).toBe(201);
    await go('teams', 'Looms');
    await seat.press('s');
    await seat.sees(/switch to another of your teams/i);
    await seat.press('y');
    await seat.sees('Switched to the team Looms.');
    await go('invitations', 'Nobody is invited.');
    await go('team', 'Looms');
  });
});
