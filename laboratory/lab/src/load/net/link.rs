//! Two network namespaces and the pair of devices between them.
//!
//! A thread may leave its network namespace alone, and a new one has no name: it lives as long as
//! somebody is in it or holds a file or socket of it. So one thread makes both and everything in them,
//! and ends. The messages to the kernel are those of rtnetlink(7).

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nix::sched::{CloneFlags, unshare};
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily as Domain, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sendto,
    socket_with,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// The name of the device, in each namespace.
pub(super) const DEVICE: &str = "tardy";

/// Its number, in each namespace: chosen here, so that it need not be asked for. A fresh namespace has
/// a few small ones (loopback, tunnels).
const DEVICE_INDEX: u32 = 1_000;

/// From the block that is for documentation (RFC 5737): nobody's, and seen by nobody.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const PREFIX_BITS: u8 = 30;

/// Each packet is one segment, as on hardware that cannot cut larger ones itself: otherwise 64 KiB of
/// TCP are one packet, one pass of the softirq.
const SEGMENTS_MAX: u32 = 1;

/// One of two namespaces.
pub(super) struct End {
    namespace: OwnedFd,
    pub(super) address: Ipv4Addr,
    /// Counters of its devices and of its protocols, as proc(5) has them: open, they are of this
    /// namespace whoever reads them.
    pub(super) device_counters: File,
    pub(super) protocol_counters: File,
}

/// What was refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) doing: &'static str,
    pub(super) source: io::Error,
}

impl Refused {
    pub(super) fn remedy(&self) -> &'static str {
        match self.source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::PERM | Errno::ACCESS) => {
                "this load needs CAP_SYS_ADMIN and CAP_NET_ADMIN: run as root, or as root of a user \
                 namespace of your own (`unshare --user --map-root-user tardy …`)"
            }
            Some(Errno::INVAL) if self.doing == NAMESPACE => {
                "this kernel has no network namespaces (CONFIG_NET_NS)"
            }
            Some(Errno::OPNOTSUPP) if self.doing == PAIR => {
                "this kernel has no virtual Ethernet devices (CONFIG_VETH, module veth)"
            }
            Some(Errno::NOSPC | Errno::USERS) => {
                "/proc/sys/user/max_net_namespaces bounds how many namespaces there may be"
            }
            Some(Errno::MFILE) => {
                "`ulimit -n` bounds how many sockets there may be: ask for fewer \
                                   streams, or raise it"
            }
            _ => "the load has left nothing behind; the other loads do not need this",
        }
    }
}

const NAMESPACE: &str = "making a network namespace";
const PAIR: &str = "making a pair of virtual Ethernet devices";

/// The error of something that is `doing`.
pub(super) fn refused<E: Into<io::Error>>(doing: &'static str) -> impl Fn(E) -> Refused {
    move |source| Refused { doing, source: source.into() }
}

/// The thread that makes it ended without a word.
pub(super) fn gone() -> Refused {
    refused("the thread that makes the network")(io::Error::other("it ended without a result"))
}

impl End {
    fn new(address: Ipv4Addr) -> Result<Self, Refused> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(refused(NAMESPACE))?;
        let open = |file: &str| File::open(format!("/proc/thread-self/{file}"));
        let made = || {
            Ok(Self {
                namespace: open("ns/net")?.into(),
                address,
                device_counters: open("net/dev")?,
                protocol_counters: open("net/snmp")?,
            })
        };
        made().map_err(refused::<io::Error>("opening a network namespace's files in /proc"))
    }

    /// Moves the calling thread there: what sockets it makes from now on are of this end.
    pub(super) fn enter(&self) -> Result<(), Refused> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(refused("entering a network namespace"))
    }
}

/// Makes the two namespaces, joined, and leaves the calling thread in one of them. It must be a
/// thread that ends afterwards.
pub(super) fn make() -> Result<[End; 2], Refused> {
    let near = End::new(ADDRESSES[0])?;
    let far = End::new(ADDRESSES[1])?;
    near.enter()?;
    let mut peer = device();
    peer.attributes.push(LinkAttribute::NetNsFd(far.namespace.as_raw_fd()));
    let mut pair = device();
    pair.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
    ]));
    ask(RouteNetlinkMessage::NewLink(pair)).map_err(refused(PAIR))?;
    for end in [&far, &near] {
        end.enter()?;
        let address = RouteNetlinkMessage::NewAddress(address(end.address));
        ask(address).map_err(refused("giving a virtual Ethernet device its address"))?;
        ask(RouteNetlinkMessage::SetLink(up()))
            .map_err(refused("starting a virtual Ethernet device"))?;
    }
    Ok([near, far])
}

/// One of the devices. It cannot be up before it has its other half.
fn device() -> LinkMessage {
    let mut device = LinkMessage::default();
    device.header.index = DEVICE_INDEX;
    device.attributes.push(LinkAttribute::IfName(DEVICE.to_owned()));
    device.attributes.push(LinkAttribute::GsoMaxSegs(SEGMENTS_MAX));
    device
}

/// That it is to be up.
fn up() -> LinkMessage {
    let mut device = LinkMessage::default();
    device.header.index = DEVICE_INDEX;
    device.header.flags = LinkFlags::Up;
    device.header.change_mask = LinkFlags::Up;
    device
}

fn address(of: Ipv4Addr) -> AddressMessage {
    let mut address = AddressMessage::default();
    address.header.family = AddressFamily::Inet;
    address.header.prefix_len = PREFIX_BITS;
    address.header.index = DEVICE_INDEX;
    address.attributes.push(AddressAttribute::Local(IpAddr::V4(of)));
    address.attributes.push(AddressAttribute::Address(IpAddr::V4(of)));
    address
}

/// Sends the kernel a request, in the calling thread's namespace, and waits for its answer.
fn ask(request: RouteNetlinkMessage) -> io::Result<()> {
    let socket = socket_with(Domain::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    sendto(&socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    // An answer repeats the request.
    let mut answer = vec![0; bytes.len() + 1024];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer[..length]);
    match answer.map_err(io::Error::other)?.payload {
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        other => Err(io::Error::other(format!("the kernel answered {other:?}"))),
    }
}
