import type { Config } from '../../platform/config/index.ts';
import type { DoorName } from './door.ts';

export interface PortPlan {
  port: number;
  /** TLS from the first byte, instead of by STARTTLS. */
  isImplicit: boolean;
  doors: DoorName[];
}

/** The ports to open, and their doors. A port that two settings name is one listener for both. */
export function planPorts({ submission, receiving }: Config, open: readonly DoorName[]): PortPlan[] {
  const wanted = [
    { name: 'submission' as const, isImplicit: false, ports: submission.ports },
    { name: 'submission' as const, isImplicit: true, ports: submission.tls_ports },
    { name: 'receiving' as const, isImplicit: false, ports: receiving.ports },
  ];
  const plans: PortPlan[] = [];
  for (const { name, isImplicit, ports } of wanted) {
    if (!open.includes(name)) continue;
    for (const port of new Set(ports)) {
      const known = plans.find((plan) => plan.port === port && plan.isImplicit === isImplicit);
      if (known) known.doors.push(name);
      else plans.push({ port, isImplicit, doors: [name] });
    }
  }
  return plans;
}

/** The settings that name the port, for error messages. */
export const settingsOf = ({ isImplicit, doors }: PortPlan): string =>
  doors.map((door) => `${door}.${isImplicit ? 'tls_ports' : 'ports'}`).join(' and ');
