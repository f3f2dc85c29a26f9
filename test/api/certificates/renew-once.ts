// A process of its own that runs the job once, to be killed in the middle: node renew-once.ts '{"config":…}'
import { openWorld } from '../../../src/open-world.ts';
import { renewCertificates } from '../../../src/features/installation/certificate-renewal/renew-certificates.ts';
import type { Config } from '../../../src/platform/config/index.ts';

const given = JSON.parse(process.argv[2] ?? '{}') as { config: Config; dataDir: string; trustedCa: string[] };
const world = await openWorld(given);
await renewCertificates(world);
