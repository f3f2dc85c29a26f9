import { afterAll, afterEach, beforeAll, it } from 'vitest';
import { startScene, type Scene, type Team } from '../rig/scene.ts';
import { makeBelievableTeam } from './believable-team.ts';
import { describeAtTerminal, Seat } from './seat.ts';

describeAtTerminal('whoever sits at the console for the first time', () => {
  let scene: Scene;
  let team: Team;
  let seat: Seat;
  beforeAll(async () => {
    scene = await startScene();
    team = await makeBelievableTeam(scene);
    seat = await Seat.take({ url: scene.url, key: team.key });
    await seat.sees('bytes of received mail');
  });
  afterEach(async () => {
    await seat.press('Escape');
    await go('overview', 'Mail of the last');
  });
  afterAll(async () => {
    await seat?.[Symbol.asyncDispose]();
    await scene?.close();
  });

  const go = async (command: string, ...sees: (string | RegExp)[]): Promise<void> => {
    await seat.type(`:${command}`);
    await seat.sees(`:${command}`);
    await seat.press('Enter');
    await seat.sees(...sees);
  };

  it('a filter that is refused leaves the list as it was, and stands there to be corrected', async () => {
    await go('emails', 'Your invoice', 'Your receipt');
    await seat.type('/status=bouncd');
    await seat.press('Enter');
    await seat.sees(/^ emails +2$/m, 'Your invoice', /status must be one of/, /^ \/status=bouncd/m);
    await seat.press('BSpace');
    await seat.type('ed');
    await seat.sees(/status must be one of/, /^ \/status=bounced/m);
    await seat.press('Enter');
    await seat.sees(/\/status=bounced · 1$/m, /^(?![^]*must be one of)/);
    await seat.press('/', 'C-u');
    await seat.type('nothing=1');
    await seat.press('Enter');
    await seat.sees('There is no filter nothing', /\/status=bounced · 1$/m, /^ \/nothing=1/m);
    await seat.press('Escape');
    await seat.sees(/^(?![^]*There is no filter)/);
    await go('emails status=bouncd', /^ emails +2$/m, 'Your invoice', /status must be one of/, /^ \/status=bouncd/m);
  });
});
