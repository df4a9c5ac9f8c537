//! A proxy between a server and PostgreSQL that knows the frames of the protocol well enough to see a COMMIT pass, and
//! then delays it, or cuts the connection before it, with it, or before its answer.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::SockRef;

/// How often a thread looks whether its connection was cut.
const LOOK: Duration = Duration::from_millis(10);

/// What happens to the connection that the next COMMIT, or frame, comes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// COMMIT does not reach the server.
    BeforeCommit,
    /// COMMIT is passed on, and nobody waits for what comes of it.
    WithCommit,
    /// COMMIT is done, and its answer does not come back.
    AfterCommit,
    /// The client's frame after so many more does not reach the server, whatever it is.
    AfterFrames(usize),
    /// No cut: the answer of COMMIT takes so many milliseconds longer.
    Delay(u64),
}

/// A cut, once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) cut: Cut,
    /// RST in place of FIN.
    pub(crate) is_reset: bool,
    /// From the cut on every other connection is cut, too, and new ones are refused, until [`Proxy::heal`].
    pub(crate) is_lasting: bool,
}

/// A listener on a loopback port that passes everything on, but for faults.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<State>,
    listener: Option<JoinHandle<()>>,
}

struct State {
    server: String,
    fault: Mutex<Option<Fault>>,
    n_met: AtomicUsize,
    is_refusing: AtomicBool,
    is_over: AtomicBool,
    connections: Mutex<Vec<Weak<Connection>>>,
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    is_cut: AtomicBool,
    /// What is to be done with the answer of a COMMIT that was passed on.
    awaited: Mutex<Option<Fault>>,
}

impl Proxy {
    /// To the server of a URL.
    pub(crate) fn to(url: &str) -> Self {
        let (_, after_user) = url.rsplit_once('@').expect("a URL with a user");
        let (server, _) = after_user.split_once('/').expect("a URL with a database");
        let server = if server.contains(':') { server.to_owned() } else { format!("{server}:5432") };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            server,
            fault: Mutex::default(),
            n_met: AtomicUsize::new(0),
            is_refusing: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let of_listener = Arc::clone(&state);
        let listener = std::thread::spawn(move || of_listener.listen(&listener));
        Self { port, state, listener: Some(listener) }
    }

    /// The same database through this.
    pub(crate) fn url(&self, url: &str) -> String {
        let (user, after_user) = url.rsplit_once('@').expect("a URL with a user");
        let (_, database) = after_user.split_once('/').expect("a URL with a database");
        format!("{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// What happens next.
    pub(crate) fn set(&self, fault: Fault) {
        *self.state.fault.lock().unwrap() = Some(fault);
    }

    /// Takes back a fault that nothing met. Gives whether there was one.
    pub(crate) fn unset(&self) -> bool {
        self.state.fault.lock().unwrap().take().is_some()
    }

    /// Faults that happened.
    pub(crate) fn n_met(&self) -> usize {
        self.state.n_met.load(Ordering::SeqCst)
    }

    /// Connections are taken again.
    pub(crate) fn heal(&self) {
        self.state.is_refusing.store(false, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.state.cut_all(false);
        // Wakes the listener, which looks.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl State {
    fn listen(self: Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.is_over.load(Ordering::SeqCst) {
                return;
            }
            let Ok(client) = client else { continue };
            if self.is_refusing.load(Ordering::SeqCst) {
                reset_when_closed(&client);
                continue;
            }
            let Ok(server) = TcpStream::connect(&self.server) else { continue };
            for stream in [&client, &server] {
                stream.set_read_timeout(Some(LOOK)).unwrap();
                stream.set_nodelay(true).unwrap();
            }
            let connection =
                Arc::new(Connection { client, server, is_cut: AtomicBool::new(false), awaited: Mutex::default() });
            let mut connections = self.connections.lock().unwrap();
            connections.retain(|connection| connection.strong_count() > 0);
            connections.push(Arc::downgrade(&connection));
            drop(connections);
            let (state, up) = (Arc::clone(&self), Arc::clone(&connection));
            std::thread::spawn(move || state.pass_up(&up));
            let state = Arc::clone(&self);
            std::thread::spawn(move || state.pass_down(&connection));
        }
    }

    /// From the client to the server, frame by frame.
    fn pass_up(&self, connection: &Connection) {
        let mut frames = Frames::default();
        while let Some(bytes) = connection.read(&connection.client) {
            frames.buffer.extend(bytes);
            while let Some(frame) = frames.next() {
                let fault = self.fault_of(&frame);
                match fault.map(|fault| fault.cut) {
                    Some(Cut::BeforeCommit | Cut::AfterFrames(_)) => {
                        self.meet(connection, fault);
                        return;
                    }
                    Some(Cut::AfterCommit | Cut::Delay(_)) => *connection.awaited.lock().unwrap() = fault,
                    Some(Cut::WithCommit) | None => {}
                }
                let passed = (&connection.server).write_all(&frame);
                if fault.is_some_and(|fault| fault.cut == Cut::WithCommit) {
                    self.meet(connection, fault);
                }
                if passed.is_err() {
                    connection.cut(false);
                }
            }
        }
        connection.cut(false);
    }

    /// From the server to the client.
    fn pass_down(&self, connection: &Connection) {
        while let Some(bytes) = connection.read(&connection.server) {
            let awaited = connection.awaited.lock().unwrap().take();
            match awaited.map(|fault| fault.cut) {
                Some(Cut::Delay(milliseconds)) => {
                    self.n_met.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(milliseconds));
                }
                Some(_) => {
                    self.meet(connection, awaited);
                    return;
                }
                None => {}
            }
            if (&connection.client).write_all(&bytes).is_err() {
                break;
            }
        }
        connection.cut(false);
    }

    /// The fault that a frame meets.
    fn fault_of(&self, frame: &[u8]) -> Option<Fault> {
        let mut fault = self.fault.lock().unwrap();
        match &mut fault.as_mut()?.cut {
            Cut::AfterFrames(0) => fault.take(),
            Cut::AfterFrames(n) => {
                *n -= 1;
                None
            }
            _ if is_commit(frame) => fault.take(),
            _ => None,
        }
    }

    fn meet(&self, connection: &Connection, fault: Option<Fault>) {
        let Some(fault) = fault else { return };
        if fault.is_lasting {
            self.is_refusing.store(true, Ordering::SeqCst);
            self.cut_all(fault.is_reset);
        }
        connection.cut(fault.is_reset);
        self.n_met.fetch_add(1, Ordering::SeqCst);
    }

    fn cut_all(&self, is_reset: bool) {
        let connections = std::mem::take(&mut *self.connections.lock().unwrap());
        connections.iter().filter_map(Weak::upgrade).for_each(|connection| connection.cut(is_reset));
    }
}

impl Connection {
    /// What comes next; `None` when the connection is over.
    fn read(&self, mut stream: &TcpStream) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 64 * 1024];
        while !self.is_cut.load(Ordering::SeqCst) {
            match stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(n) => {
                    bytes.truncate(n);
                    return Some(bytes);
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return None,
            }
        }
        None
    }

    fn cut(&self, is_reset: bool) {
        if self.is_cut.swap(true, Ordering::SeqCst) {
            return;
        }
        for stream in [&self.client, &self.server] {
            if is_reset {
                // Closed as soon as both threads have looked.
                reset_when_closed(stream);
            } else {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn reset_when_closed(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Cuts what a client sends into frames.
#[derive(Default)]
struct Frames {
    buffer: Vec<u8>,
    /// The frames that ask for a connection have no type.
    has_begun: bool,
}

impl Frames {
    fn next(&mut self) -> Option<Vec<u8>> {
        const VERSION_3: [u8; 4] = [0, 3, 0, 0];
        let at = usize::from(self.has_begun);
        let length = self.buffer.get(at..at + 4)?;
        let length = at + u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
        if self.buffer.len() < length {
            return None;
        }
        // One that asks for encryption is followed by another.
        self.has_begun = self.has_begun || self.buffer.get(4..8) == Some(&VERSION_3);
        Some(self.buffer.drain(..length).collect())
    }
}

fn is_commit(frame: &[u8]) -> bool {
    frame.first() == Some(&b'Q') && frame.get(5..).is_some_and(|text| text.starts_with(b"COMMIT"))
}
