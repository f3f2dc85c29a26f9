import { settingsOf, type PortPlan } from './port-plan.ts';

/** Why a port is not open, in one line that says what to do. */
export function listenFault(error: NodeJS.ErrnoException, plan: PortPlan, host: string): string {
  const settings = settingsOf(plan);
  const { port } = plan;
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} has another program, such as a Postfix or Exim; stop it, or take ${port} out of ${settings}`;
    case 'EACCES':
    case 'EPERM':
      return `port ${port} needs root or CAP_NET_BIND_SERVICE, which the systemd unit gives; or name ports above 1023 as ${settings}`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine; set smtp.host to one that is`;
    default:
      return `port ${port} cannot be opened (${error.code ?? error.message}); look at smtp.host and ${settings}`;
  }
}
