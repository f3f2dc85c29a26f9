"""OpenStack Swift with its S3 API in one process, as Debian's python3-swift has it: swift-server.py FOLDER ACCESS_KEY SECRET_KEY.

Says the port of its proxy when it serves, and ends with its standard input."""

import os
import sys

import eventlet

eventlet.monkey_patch()

from eventlet import wsgi
from swift.common import utils

folder, access_key, secret_key = sys.argv[1:]
utils.SWIFT_CONF_FILE = os.path.join(folder, "swift.conf")
STORES = ("account", "container", "object")


def write(name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


write("swift.conf", "[swift-hash]\nswift_hash_path_suffix = test\n[storage-policy:0]\nname = one\ndefault = yes\n")

from swift.common.ring import RingBuilder
from swift.common.wsgi import loadapp

sockets = {name: eventlet.listen(("127.0.0.1", 0)) for name in (*STORES, "proxy")}
port_of = {name: socket.getsockname()[1] for name, socket in sockets.items()}
os.makedirs(os.path.join(folder, "devices", "disk"))

for name in STORES:
    ring = RingBuilder(4, 1, 1)
    place = {"ip": "127.0.0.1", "port": port_of[name], "device": "disk", "region": 1, "zone": 1, "weight": 1}
    ring.add_dev({**place, "replication_ip": place["ip"], "replication_port": place["port"], "meta": ""})
    ring.rebalance()
    ring.get_ring().save(os.path.join(folder, f"{name}.ring.gz"))
    write(
        f"{name}.conf",
        f"[DEFAULT]\nswift_dir = {folder}\ndevices = {folder}/devices\nmount_check = false\n"
        f"[pipeline:main]\npipeline = app\n[app:app]\nuse = egg:swift#{name}\n",
    )

user, _, name = access_key.partition(":")
write(
    "proxy.conf",
    f"""[DEFAULT]
swift_dir = {folder}
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth copy proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_{user}_{name} = {secret_key} .admin
[filter:copy]
use = egg:swift#copy
""",
)

for name, socket in sockets.items():
    eventlet.spawn(wsgi.server, socket, loadapp(os.path.join(folder, f"{name}.conf")), log_output=False)
print(port_of["proxy"], flush=True)
while eventlet.tpool.execute(sys.stdin.read, 1):
    pass
os._exit(0)
