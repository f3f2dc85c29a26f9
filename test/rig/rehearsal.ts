import { checkProfile, loadProfile, type Profile } from '../../src/features/rehearsal/index.ts';
import { startInternet, type Internet } from '../../src/features/rehearsal/start.ts';
import type { DeepPartial, Config } from '../../src/platform/config/index.ts';
import { freePort } from './free-port.ts';
import { mxPort } from './mx.ts';
import { startScene, type Scene, type SceneOptions } from './scene.ts';

export interface Rehearsal extends AsyncDisposable {
  scene: Scene;
  internet: Internet;
}

export interface RehearsalOptions extends Omit<SceneOptions, 'sink'> {
  /** A profile of config/rehearsals, or one of the test's own. */
  rehearsed: string | Pick<Profile, 'providers' | 'domains'>;
  keepContent?: boolean;
}

/**
 * Starts a scene whose mail goes to the receivers of a profile instead of the sink: by the scene's clock, with the
 * domains of the profile in the scene's DNS. With the role `receiving`, bounces and complaints come back.
 */
export async function startRehearsal(options: RehearsalOptions): Promise<Rehearsal> {
  const { rehearsed, keepContent, config, ...others } = options;
  const profile = typeof rehearsed === 'string' ? loadProfile(rehearsed) : readOwn(rehearsed);
  const smtpPort = await freePort();
  const settings: DeepPartial<Config> = { ...config, delivery: { ...config?.delivery, smtp_port: smtpPort } };
  const scene = await startScene({ ...others, config: settings });
  try {
    const { clock, dns } = scene;
    const internet = await startInternet({ profile, clock, smtpPort, keepContent: keepContent ?? false });
    for (const { name, type, value } of internet.records) if (type !== 'MX') dns.set(name, type, [value]);
    for (const { name, hosts } of internet.domains) {
      dns.set(
        name,
        'MX',
        hosts.map((host, at) => `${10 * (at + 1)} ${host.name}`),
      );
    }
    if (others.roles?.includes('receiving')) internet.reportTo({ host: '127.0.0.1', port: mxPort(scene) });
    const close = async (): Promise<void> => {
      await scene.close();
      await internet.close();
    };
    return { scene, internet, [Symbol.asyncDispose]: close };
  } catch (error) {
    await scene.close();
    throw error;
  }
}

const readOwn = (profile: Pick<Profile, 'providers' | 'domains'>): Profile =>
  checkProfile('own', { summary: 'a profile of a test', ...profile });
